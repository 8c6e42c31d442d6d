use http::Method;

/// Which requests a layer is for.
#[derive(Debug, Clone, Default)]
pub(crate) enum Methods {
    /// All but those that RFC 9110 calls safe: GET, HEAD, OPTIONS, TRACE.
    #[default]
    Unsafe,
    All,
    Only(Vec<Method>),
}

impl Methods {
    pub(crate) fn only(methods: impl IntoIterator<Item = Method>) -> Self {
        Self::Only(methods.into_iter().collect())
    }

    pub(crate) fn include(&self, method: &Method) -> bool {
        match self {
            Self::Unsafe => !method.is_safe(),
            Self::All => true,
            Self::Only(methods) if *method == Method::HEAD => {
                // Routers give it to what handles GET.
                methods.contains(method) || methods.contains(&Method::GET)
            }
            Self::Only(methods) => methods.contains(method),
        }
    }
}
