package fiveg

// ClientCredentials is the name of the field with the client credentials assertion (TS 29.500 5.2.3.2.11).
const ClientCredentials = "3gpp-sbi-client-credentials"

// Control is information about the load of a network function in a response.
type Control uint8

const (
	// OverloadControl is that of 3gpp-Sbi-Oci (TS 29.500 5.2.3.2.9).
	OverloadControl Control = 1 << iota
	// LoadControl is that of 3gpp-Sbi-Lci (TS 29.500 5.2.3.2.10).
	LoadControl
)

// ControlOf returns what a field of a response has; 0: none.
func ControlOf(name []byte) Control {
	switch string(name) {
	case "3gpp-sbi-oci":
		return OverloadControl
	case "3gpp-sbi-lci":
		return LoadControl
	}
	return 0
}
