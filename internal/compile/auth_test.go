package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// asking is a target with credentials.
func asking(auth string) parts {
	return parts{targets: "{name: target, url: http://target.example, connections: 2, auth: " + auth + "}"}
}

// token is one that gets its credentials by OAuth 2.0.
func token(what string) parts {
	return asking("{oauth2: {tokenURL: http://nrf.example, clientID: a, " + what + "}}")
}

func TestMistakesInAuth(t *testing.T) {
	const at = "spec.targets[0].auth"
	checkMistakes(t, []mistake{
		{"nothing", asking("{}"), []string{at + ": exactly one of basic, bearer and oauth2 is needed"}},
		{"two", asking("{bearer: {tokenFrom: {file: a}}, basic: {secretRef: {name: b}}}"), []string{at + ": exactly one of basic, bearer and oauth2 is needed"}},
		{"basic without anything", asking("{basic: {}}"), []string{at + ".basic: exactly one of files and secretRef is needed"}},
		{"password without a user", asking("{basic: {files: {password: a}}}"), []string{at + ".basic.files.username: is needed"}},
		{"name of a Secret", asking("{basic: {secretRef: {name: A}}}"), []string{at + ".basic.secretRef.name: must be lower-case letters, digits, - and dots, beginning and ending with a letter or digit"}},
		{"bearer of two", asking("{bearer: {tokenFrom: {file: a, secretKeyRef: {name: b, key: c}}}}"), []string{at + ".bearer.tokenFrom: exactly one of configMapKeyRef, file and secretKeyRef is needed"}},

		{"no URL and no client", asking("{oauth2: {}}"), []string{at + ".oauth2.tokenURL: is needed"}},
		{"scheme", asking("{oauth2: {tokenURL: nrf.example, clientID: a}}"), []string{at + ".oauth2.tokenURL: must begin with http:// or https://"}},
		{"password in a URL", asking("{oauth2: {tokenURL: 'http://a:b@nrf.example', clientID: a}}"), []string{at + ".oauth2.tokenURL: must not have a user or password; send an authorization header instead"}},
		{"no host behind a query", asking("{oauth2: {tokenURL: 'http:///a?b', clientID: a}}"), []string{at + ".oauth2.tokenURL: must have a host"}},
		{"prior knowledge over TLS", asking("{oauth2: {tokenURL: 'https://nrf.example', clientID: a, http2: true}}"), []string{at + ".oauth2.http2: needs an http:// tokenURL; with https ALPN decides"}},
		{"secret without a client", asking("{oauth2: {tokenURL: http://nrf.example, clientSecretFrom: {file: a}}}"), []string{at + ".oauth2.clientSecretFrom: needs clientID"}},
		{"certificate from nowhere", token("certificate: {}"), []string{at + ".oauth2.certificate: exactly one of files and secretRef is needed"}},
		{"certificate without a key", token("certificate: {files: {certificate: a}}"), []string{at + ".oauth2.certificate.files.key: is needed"}},
		{"where the secret is", token("secretIn: query"), []string{at + ".oauth2.secretIn: must be Header or Body"}},
		{"secret from nowhere", token("clientSecretFrom: {}"), []string{at + ".oauth2.clientSecretFrom: exactly one of configMapKeyRef, file and secretKeyRef is needed"}},
		{"authority from nowhere", token("caFrom: {}"), []string{at + ".oauth2.caFrom: exactly one of configMapKeyRef, file and secretKeyRef is needed"}},
		{"scopes in one", token("scopes: [a b]"), []string{at + `.oauth2.scopes[0]: must be one scope: printable ASCII characters without blanks, " and \ (RFC 6749 3.3)`}},
		{"a scope twice", token("scopes: [a, a]"), []string{at + `.oauth2.scopes[1]: "a" is the name of entry 0 too`}},
		{"an empty scope", token("scopes: ['']"), []string{at + ".oauth2.scopes[0]: must not be empty"}},
		{"a parameter twice", token("parameters: [{name: a, value: b}, {name: a, value: c}]"), []string{at + `.oauth2.parameters[1].name: "a" is the name of entry 0 too`}},
		{"a parameter of the grant", token("parameters: [{name: grant_type, value: password}]"), []string{at + ".oauth2.parameters[0].name: must not be a field that the runner sets: grant_type, scope, client_id, client_secret"}},
		{"a parameter without a value", token("parameters: [{name: a}]"), []string{at + ".oauth2.parameters[0].value: is needed"}},
		{"refresh", token("refreshBefore: 61m"), []string{at + ".oauth2.refreshBefore: must be at most 1h, and not negative"}},
	})
}

func TestAuthWarnings(t *testing.T) {
	_, got := token("caFrom: {file: a}, certificate: {secretRef: {name: a}}").plan(t)
	want := []string{
		"spec.targets[0].auth.oauth2.caFrom: is not used, because tokenURL is not an https URL",
		"spec.targets[0].auth.oauth2.certificate: is not used, because tokenURL is not an https URL",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTokenEndpointOfATarget: a token endpoint on the host and port of a target is reached as the target is.
func TestTokenEndpointOfATarget(t *testing.T) {
	const nrf = ", connections: 2}, {name: nrf, url: 'https://nrf.example/api', connections: 2, connectTo: '192.0.2.1:8443', tls: {serverName: nrf, insecureSkipVerify: true}"
	for name, tt := range map[string]struct {
		tokenURL string
		want     rv.OAuth2
	}{
		"of the target":        {"https://nrf.example/oauth2/token?a=b", rv.OAuth2{Address: "192.0.2.1:8443", ServerName: "nrf", InsecureSkipVerify: true}},
		"with its port":        {"https://nrf.example:443/oauth2/token", rv.OAuth2{Address: "192.0.2.1:8443", ServerName: "nrf", InsecureSkipVerify: true}},
		"in other letters":     {"https://NRF.Example/oauth2/token", rv.OAuth2{Address: "192.0.2.1:8443", ServerName: "nrf", InsecureSkipVerify: true}},
		"of another port":      {"https://nrf.example:8443/oauth2/token", rv.OAuth2{}},
		"without TLS":          {"http://nrf.example/oauth2/token", rv.OAuth2{}},
		"of the target itself": {"http://target.example/oauth2/token", rv.OAuth2{}},
	} {
		p := parts{targets: "{name: target, url: http://target.example, auth: {oauth2: {tokenURL: '" + tt.tokenURL + "', clientID: a}}" + nrf + "}"}
		plan, _ := p.plan(t)
		got := plan.Targets[0].Auth.OAuth2
		if diff := cmp.Diff(tt.want, rv.OAuth2{Address: got.Address, ServerName: got.ServerName, InsecureSkipVerify: got.InsecureSkipVerify}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// located is a target with a variable v in its URL.
func located(url, variable string) parts {
	p := parts{targets: "{name: target, url: '" + url + "', connections: 2}"}
	if variable != "" {
		p.variables = "{name: v, " + variable + "}"
	}
	return p
}

func TestMistakesInURLsWithPlaceholders(t *testing.T) {
	const at = "spec.targets[0].url: "
	const many = at + `variable "v" has many values, and a url is the same for the whole run; env, perShard, constant and those of scope global are possible`
	checkMistakes(t, []mistake{
		{"a placeholder for the scheme", located("${v}://a", "constant: {value: http}"), []string{at + "must begin with http:// or https://, without ${} before the host"}},
		{"a placeholder in the scheme", located("http${v}://a", "constant: {value: s}"), []string{at + "must begin with http:// or https://, without ${} before the host"}},
		{"another scheme", located("ftp://${v}", "constant: {value: a}"), []string{at + "must begin with http:// or https://, without ${} before the host"}},
		{"nothing", located("http://${v}", ""), []string{at + `variable "v" is not defined`}},
		{"no end", located("http://${v", "constant: {value: a}"), []string{at + "${ without }; write $${ for a literal ${"}},
		{"range", located("http://${v}", "range: {end: 4}"), []string{many}},
		{"uuid of a worker", located("http://${v}", "uuid: {}, scope: Worker"), []string{many}},
		{"key with many values", located("http://${hmacSha256(w, v)}", "uuid: {}}, {name: w, constant: {value: a}"), []string{many}},
		{"table", located("http://${v}", `csv: {text: "a\n1\n"}, scope: Global`), []string{at + `variable "v" is a table; write ${v.column} with the name of a column`}},
		{"host", located("http://${v}/", "perShard: {values: [a, 'b c']}"), []string{at + "is not a URL of the form http://host:port/path, with the values of shard 1"}},
		{"port", located("http://a:${v}/", "constant: {value: '65536'}"), []string{at + "must have a port between 1 and 65535, with the values of shard 0"}},
		{"query", located("http://a/?${v}", "env: {name: A}"), []string{at + "must not have a query (?); it belongs to the path of a template, with the values of shard 0"}},
		{"urls of two schemes", parts{targets: "{name: target, urls: ['http://${v}', 'https://${v}'], connections: 2}", variables: "{name: v, env: {name: A}}"},
			[]string{"spec.targets[0].urls[1]: all urls of a target must have the same scheme"}},
	})
}

func TestURLsWithPlaceholders(t *testing.T) {
	one := rv.Part{Variable: 1}
	for _, tc := range []struct {
		url, variable string
		want          rv.Text
	}{
		{"http://${v}", "perShard: {values: [a, b.example:81/x]}", rv.Text{{Literal: "http://"}, one}},
		{"HTTPS://a:${v}/x", "env: {name: PORT}", rv.Text{{Literal: "HTTPS://a:"}, one, {Literal: "/x"}}},
		{"http://a:8080${v}", "constant: {valueFrom: {file: a}}", rv.Text{{Literal: "http://a:8080"}, one}},
		{"http://[${v}]:80", "env: {name: POD_IP}", rv.Text{{Literal: "http://["}, one, {Literal: "]:80"}}},
		{"http://${lower(v)}", "list: {values: [A, B]}, scope: Global", rv.Text{{Literal: "http://"}, {Variable: 1, Functions: []rv.Function{{Name: rv.FunctionLower}}}}},
		{"http://${v.h}", `csv: {text: "h\na\nb\n"}, scope: Global`, rv.Text{{Literal: "http://"}, {Variable: 1, Column: "h"}}},
	} {
		p, warnings := located(tc.url, tc.variable).plan(t)
		e := p.Targets[0].Endpoints[0]
		scheme := "http"
		if tc.url[:5] == "HTTPS" {
			scheme = "https"
		}
		if diff := cmp.Diff(rv.Endpoint{Scheme: scheme, URL: tc.want}, e); diff != "" || len(warnings) > 0 {
			t.Errorf("%s, %s: warnings %q (-want +got):\n%s", tc.url, tc.variable, warnings, diff)
		}
	}
	p, _ := parts{targets: "{name: target, url: 'http://a/$$${v}', connectTo: 'unix:/a', connections: 2}", variables: "{name: v, constant: {valueFrom: {file: a}}}"}.plan(t)
	want := rv.Endpoint{Scheme: "http", Address: "unix:/a", URL: rv.Text{{Literal: "http://a/$"}, one}}
	if diff := cmp.Diff(want, p.Targets[0].Endpoints[0]); diff != "" {
		t.Errorf("another address to dial (-want +got):\n%s", diff)
	}
}

// TestNFInstanceID: NF instance IDs are UUIDs (TS 29.571 5.3.2). A test of an NRF may send another one.
func TestNFInstanceID(t *testing.T) {
	for id, want := range map[string][]string{
		"6faf1bbc-6e4a-4454-a507-a14ef8e1bc5c": nil,
		"6FAF1BBC-6E4A-4454-A507-A14EF8E1BC5C": nil,
		"amf-1":                                {"spec.targets[0].clientAssertion.nfInstanceID: is not a UUID (TS 29.571 5.3.2), so receivers can refuse it"},
	} {
		_, warnings := parts{targets: "{name: target, url: http://a.example, connections: 2, clientAssertion: {nfInstanceID: " + id + ", audience: [UDM], certificate: {files: {certificate: /a, key: /b}}}}"}.plan(t)
		if diff := cmp.Diff(want, warnings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}
