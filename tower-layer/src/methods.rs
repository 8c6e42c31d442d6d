use http::Method;

/// The methods to which a layer applies.
#[derive(Debug, Clone, Default)]
pub(crate) enum Methods {
    /// All methods except the safe methods of RFC 9110: GET, HEAD, OPTIONS, TRACE.
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
                // Routers pass HEAD to the handler of GET.
                methods.contains(method) || methods.contains(&Method::GET)
            }
            Self::Only(methods) => methods.contains(method),
        }
    }
}
