use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

/// Collects the mistakes in an attribute and its function, to report all of them together.
#[derive(Default)]
pub(crate) struct Mistakes(Option<Error>);

impl Mistakes {
    /// Reports `message` at `span`.
    pub(crate) fn at(&mut self, span: Span, message: impl Into<String>) {
        self.add(Error::new(span, message.into()));
    }

    /// Reports `message` under all of `tokens`.
    pub(crate) fn under(&mut self, tokens: impl ToTokens, message: impl Into<String>) {
        self.add(Error::new_spanned(tokens, message.into()));
    }

    pub(crate) fn add(&mut self, mistake: Error) {
        match &mut self.0 {
            Some(mistakes) => mistakes.combine(mistake),
            None => self.0 = Some(mistake),
        }
    }

    /// Returns the value, or reports the mistake and returns `None`.
    pub(crate) fn noted<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|mistake| self.add(mistake)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0.map(Error::into_compile_error).unwrap_or_default()
    }
}
