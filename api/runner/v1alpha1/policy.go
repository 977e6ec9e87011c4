package v1alpha1

// AddressPolicy decides which addresses runners connect to. Denied rules take precedence.
type AddressPolicy struct {
	// Allowed are the only addresses that runners connect to, if there is a rule.
	Allowed []AddressRule `json:"allowed,omitempty"`
	Denied  []AddressRule `json:"denied,omitempty"`
}

// AddressRule matches a host name by a pattern, or an IP address by a range.
type AddressRule struct {
	// Name is the name of the rule in messages.
	Name  string   `json:"name"`
	Hosts []string `json:"hosts,omitempty"`
	CIDRs []string `json:"cidrs,omitempty"`
}
