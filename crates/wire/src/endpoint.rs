//! Whose interface a path belongs to.

/// A model vendor whose interface we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// OpenAI, and everyone who speaks its interface.
    OpenAi,
    /// Anthropic.
    Anthropic,
}

impl Vendor {
    /// Both.
    pub const ALL: [Vendor; 2] = [Vendor::OpenAi, Vendor::Anthropic];

    /// The name that payloads carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The vendor of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|vendor| vendor.name() == name)
    }
}

/// An interface that we understand. Others pass through and are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// OpenAI `POST /chat/completions`
    ChatCompletions,
    /// OpenAI `POST /responses`
    Responses,
    /// Anthropic `POST /v1/messages`
    Messages,
    /// `GET /models`, of either
    Models,
}

impl Endpoint {
    /// All of them.
    pub const ALL: [Endpoint; 4] = [Self::ChatCompletions, Self::Responses, Self::Messages, Self::Models];

    /// The endpoint of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.name() == name)
    }

    /// Whose interface it is; both vendors have a list of models.
    pub fn vendor(self) -> Option<Vendor> {
        match self {
            Self::ChatCompletions | Self::Responses => Some(Vendor::OpenAi),
            Self::Messages => Some(Vendor::Anthropic),
            Self::Models => None,
        }
    }

    /// The name that payloads carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat.completions",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Models => "models",
        }
    }

    /// The endpoint of a request to a vendor, by method and path; a query does not matter. Paths are compared by their
    /// ends, since gateways and proxies put their own prefixes before them.
    pub fn of(vendor: Vendor, method: &str, path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path).trim_end_matches('/');
        let ends = |end: &str| {
            path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        match (vendor, method) {
            (Vendor::OpenAi, "POST") if ends("chat/completions") => Some(Self::ChatCompletions),
            (Vendor::OpenAi, "POST") if ends("responses") => Some(Self::Responses),
            (Vendor::Anthropic, "POST") if ends("messages") => Some(Self::Messages),
            (_, "GET") if ends("models") => Some(Self::Models),
            _ => None,
        }
    }

    /// Whether a request to it is a call of a model.
    pub fn calls_a_model(self) -> bool {
        self != Self::Models
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_again() {
        for vendor in Vendor::ALL {
            assert_eq!(Vendor::of_name(vendor.name()), Some(vendor));
        }
        for endpoint in Endpoint::ALL {
            assert_eq!(Endpoint::of_name(endpoint.name()), Some(endpoint));
        }
        assert_eq!((Vendor::of_name("OpenAI"), Endpoint::of_name("")), (None, None));
    }

    #[test]
    fn by_method_and_the_end_of_the_path() {
        let of = Endpoint::of;
        assert_eq!(of(Vendor::OpenAi, "POST", "/v1/chat/completions"), Some(Endpoint::ChatCompletions));
        assert_eq!(of(Vendor::OpenAi, "POST", "/v1/responses?x=1"), Some(Endpoint::Responses));
        assert_eq!(of(Vendor::OpenAi, "POST", "/v1/responses/resp_1/cancel"), None);
        assert_eq!(of(Vendor::OpenAi, "GET", "/v1/chat/completions"), None);
        assert_eq!(of(Vendor::Anthropic, "POST", "/v1/messages/"), Some(Endpoint::Messages));
        assert_eq!(of(Vendor::Anthropic, "POST", "/v1/messages/count_tokens"), None);
        assert_eq!(of(Vendor::Anthropic, "POST", "/v1/chat/completions"), None);
        assert_eq!(of(Vendor::Anthropic, "GET", "/v1/models"), Some(Endpoint::Models));
        assert_eq!(of(Vendor::OpenAi, "POST", "/notresponses"), None);
    }
}
