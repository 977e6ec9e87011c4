package builder

// The targets of full.yaml: 0 is h2c, 1 a group of h2c, 2 secure by ALPN, 3 secure by files, 4
// secure HTTP/1.1 without keep-alive, 5 secure HTTP/2.

var rulesOfTLS = []Mutant{
	{
		Name: "tls without https", Path: "spec.targets[0].tls", Want: "tls needs an https url",
		Set: map[string]any{"spec.targets[0].tls": map[string]any{}},
	},
	{
		Name: "tls for a group without https", Path: "spec.targets[1].tls", Want: "tls needs an https url",
		Set: map[string]any{"spec.targets[1].tls": map[string]any{"insecureSkipVerify": true}},
	},
	{
		Name: "versions the wrong way round", Path: "spec.targets[3].tls", Want: "minVersion must not be above maxVersion",
		Set: map[string]any{"spec.targets[3].tls.minVersion": "1.3", "spec.targets[3].tls.maxVersion": "1.2"},
	},
	{
		Name: "suites without their version", Path: "spec.targets[2].tls.cipherSuites", Want: "cipherSuites need minVersion 1.2, because TLS 1.3 has fixed cipher suites",
		Set: map[string]any{"spec.targets[2].tls.minVersion": "1.3"},
	},
	{
		Name: "alpn with h2", Path: "spec.targets[5].tls", Want: "alpn needs protocol Auto; h2 and http1 offer one protocol each",
		Set: map[string]any{"spec.targets[5].tls.alpn": []string{"h2", "http/1.1"}},
	},
	{
		Name: "two authorities", Path: "spec.targets[2].tls.caFrom",
		Set: map[string]any{"spec.targets[2].tls.caFrom.file": "/ca.pem"},
	},
	{
		Name: "no authority", Path: "spec.targets[2].tls.caFrom",
		Set: map[string]any{"spec.targets[2].tls.caFrom": map[string]any{}},
	},
	{
		Name: "two certificates", Path: "spec.targets[3].tls.certificate",
		Set: map[string]any{"spec.targets[3].tls.certificate.secretRef": map[string]any{"name": "client"}},
	},
	{
		Name: "no certificate", Path: "spec.targets[3].tls.certificate",
		Unset: []string{"spec.targets[3].tls.certificate.files"},
	},
}

var rulesOfConnections = []Mutant{
	{
		Name: "http2 of an HTTP/1.1 target", Path: "spec.targets[4].http2", Want: "http2 is not allowed when the target uses only HTTP/1.1",
		Set: map[string]any{"spec.targets[4].http2": map[string]any{}},
	},
	{
		Name: "http1 of an h2 target", Path: "spec.targets[5].http1", Want: "http1 is not allowed when the target uses only HTTP/2",
		Set: map[string]any{"spec.targets[5].http1": map[string]any{}},
	},
	{
		Name: "http1 of an h2c target", Path: "spec.targets[0].http1", Want: "http1 is not allowed when the target uses only HTTP/2",
		Set: map[string]any{"spec.targets[0].http1": map[string]any{"pipeline": 2}},
	},
	{
		Name: "frequent pings", Path: "spec.targets[1].http2.pingInterval", Want: "must be at least 100ms and at most 1h",
		Set: map[string]any{"spec.targets[1].http2.pingInterval": "99ms"},
	},
	{
		Name: "pipelining without keep-alive", Path: "spec.targets[2].http1", Want: "pipeline needs keepAlive: without keepAlive a connection carries one request",
		Set: map[string]any{"spec.targets[2].http1.keepAlive": false},
	},
	{
		Name: "ramp period of zero", Path: "spec.targets[1].connecting.ramp.period", Want: "must be greater than 0 and at most 1h",
		Set: map[string]any{"spec.targets[1].connecting.ramp.period": "0s"},
	},
	{
		Name: "maxAge of months", Path: "spec.targets[1].connecting.maxAge", Want: "must be greater than 0 and at most 720h",
		Set: map[string]any{"spec.targets[1].connecting.maxAge": "721h"},
	},
	{
		Name: "inactivityTimeout above an hour", Path: "spec.targets[1].connecting.inactivityTimeout", Want: "must be greater than 0 and at most 1h",
		Set: map[string]any{"spec.targets[1].connecting.inactivityTimeout": "61m"},
	},
	{
		Name: "failbackInterval of zero", Path: "spec.targets[1].connecting.failbackInterval", Want: "must be greater than 0 and at most 1h",
		Set: map[string]any{"spec.targets[1].connecting.failbackInterval": "0s"},
	},
	{
		Name: "a ramp of connections on demand", Path: "spec.targets[1].connecting", Want: "ramp needs open AtStart: else requests determine when the runner opens connections",
		Set: map[string]any{"spec.targets[1].connecting.open": "OnDemand"},
	},
	{
		Name: "a ramp of connections of instances", Path: "spec.targets[1].connecting", Want: "ramp needs open AtStart: else requests determine when the runner opens connections",
		Set: map[string]any{"spec.targets[1].connecting.open": "PerInstance"},
	},
	{Name: "an interface with a slash", Path: "spec.targets[1].connecting.interface", Set: map[string]any{"spec.targets[1].connecting.interface": "a/b"}},
	{
		Name: "failback without failover", Path: "spec.targets[1].connecting", Want: "failbackInterval needs failover: without failover a connection stays on its own url",
		Set: map[string]any{"spec.targets[1].connecting.failover": false},
	},
	{
		Name: "a local address that is a name", Path: "spec.targets[1].connecting.localAddresses[1]", Want: "must be IP addresses, without a zone",
		Set: map[string]any{"spec.targets[1].connecting.localAddresses": []string{"127.0.0.1", "localhost"}},
	},
	{
		Name: "a local address with a zone", Path: "spec.targets[1].connecting.localAddresses[0]", Want: "must be IP addresses, without a zone",
		Set: map[string]any{"spec.targets[1].connecting.localAddresses": []string{"fe80::1%eth0"}},
	},
}
