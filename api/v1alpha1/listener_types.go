package v1alpha1

// Listener is an HTTP/2 server of each runner for notifications that the services under load send. A request
// gives them its URL with the placeholder ${listener.NAME.url}, and a step waits for them with await. The URL reaches
// the worker that has sent the request.
type Listener struct {
	// name is the name of the listener in placeholders, in steps and in results.
	// It has 1 to 50 lower-case letters, digits and -, and begins and ends with a letter or a digit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// port is the port of the first worker of a runner. Each further worker has the next port.
	// Ports of two listeners must not overlap, and in a cluster the ports 8443 and 9090 are those of the runner itself.
	// It is 1024 to 65000. Default: the system chooses a port for each worker.
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65000
	Port *int32 `json:"port,omitempty"`
	// interface is the network interface of the pod that the listener listens on, such as one of Multus. URLs have its
	// first IP address, if possible of IPv4. If the pod has no such interface, the test does not start.
	// It has 1 to 15 characters, without / and white space. Default: the address of the pod.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[^/\s]+$`
	Interface string `json:"interface,omitempty"`
	// token is what the access token of a notification must be. A notification without such a token is answered with 401,
	// or with
	// 403 if only the scope is missing, and counted as refusedToken. It reaches no step.
	// Default: notifications need no token.
	// +optional
	Token *ListenerToken `json:"token,omitempty"`
	// tls makes the listener an https server. Without it, the listener is an http server, which speaks HTTP/2 with prior
	// knowledge (RFC 9113 3.3).
	// Default: no TLS.
	// +optional
	TLS *ListenerTLS `json:"tls,omitempty"`
	// response is the answer to each notification that no rule answers. It is sent whether a step awaits it or not.
	// Default: 204 without content.
	// +optional
	// +kubebuilder:default={}
	Response ListenerResponse `json:"response,omitzero"`
	// rulesFrom is the source of rules that answer requests. With rules, the test is a server that the services under load
	// call. The rules are a file of h2surge target with at most 100 rules, without notify. Its listen and
	// its callbacks have no effect. Each worker has its own documents and counters. Steps can await the requests that
	// rules answer. A request with a content above maxBodyBytes is answered with 413. Default: no rules.
	// +optional
	RulesFrom *RulesSource `json:"rulesFrom,omitempty"`
	// maxBodyBytes is the largest size in bytes of a content that match, checks and captures read.
	// A larger content fails the check maxBodyBytes.
	// It is 1 to 67108864 (64 MiB). Default: 1048576 (1 MiB).
	// +optional
	// +kubebuilder:default=1048576
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	MaxBodyBytes int32 `json:"maxBodyBytes,omitempty"`
	// retention is how long a notification that comes before its step waits for it. Late and duplicate ones are recognised
	// for as long. A test ends this long after the last step that awaits one.
	// It is greater than 0 and at most 1h. Default: 1s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Retention *Duration `json:"retention,omitempty"`
}

// RulesSource is the source of the rules of a listener. Set exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type RulesSource struct {
	// configMapKeyRef is the key of a ConfigMap. Files that the rules name are not in the pod.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// file is the path. In a cluster it is a path in the container of the runner, on a volume of runner.podTemplate. On
	// the command line it is a path on the machine. Files that the rules name are relative to it. It has at most 4096
	// characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// ListenerTLS secures the connections to a listener. A peer must offer h2 by ALPN (RFC 9113 3.2). A handshake that
// fails, or that takes longer than 5 seconds, is counted as failedHandshakes of the listener.
//
// Keys and certificates are references, as in the tls of a target.
//
// +kubebuilder:validation:XValidation:rule="!has(self.clientNames) || self.clientNames.size() == 0 || has(self.clientCAFrom)",message="clientNames need clientCAFrom",fieldPath=".clientNames"
type ListenerTLS struct {
	// certificate is the source of the certificate of the listener and its private key. New connections
	// use a changed one within a minute after its files have changed.
	// Default: each runner makes a certificate when it starts. Only a peer that does not verify certificates accepts it.
	// +optional
	Certificate *ClientCertificate `json:"certificate,omitempty"`
	// clientCAFrom is the source of the certificate authorities of client certificates (mutual TLS). If it is set, a peer
	// needs a client certificate of one of them. The runner reads them once, when it starts.
	// Default: the listener does not request a client certificate.
	// +optional
	ClientCAFrom *ContentSource `json:"clientCAFrom,omitempty"`
	// clientNames are up to 16 names, of which the client certificate of a peer must have one. They are subject
	// alternative names: DNS names, URIs such as urn:uuid:..., or IP addresses. Notifications of other peers are answered
	// with 403, and counted as refusedCertificate. They reach no step.
	// Each has 1 to 253 characters. Default: every client certificate of clientCAFrom.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	ClientNames []string `json:"clientNames,omitempty"`
	// minVersion is the lowest TLS version that the listener accepts. Allowed: "1.2" and "1.3". Default: "1.2".
	// +optional
	// +kubebuilder:default="1.2"
	MinVersion TLSVersion `json:"minVersion,omitempty"`
}

// ListenerToken is what the access token of a notification must be: a JSON Web Token (RFC 7519) in the header field
// authorization (RFC 6750 2.1), which has not expired. The clocks of its issuer and of the runner may differ by 5
// seconds.
type ListenerToken struct {
	// algorithm is the algorithm of the signature: HS256, RS256, RS512 or ES256 (RFC 7518 3.1). A token with another one,
	// such as none, is refused.
	// +required
	// +kubebuilder:validation:Enum=HS256;RS256;RS512;ES256
	Algorithm string `json:"algorithm"`
	// keysFrom is the source of the keys: a JWK Set or a JWK (RFC 7517), or PEM blocks with public keys or certificates.
	// For HS256 it can also be the secret, of 32 bytes or more. The runner uses changed keys within a minute
	// after their file has changed.
	// +required
	KeysFrom ContentSource `json:"keysFrom,omitzero"`
	// audience is a value that the claim aud of the token must have. It can be the NF type or the instance id of the
	// consumer. It has at most 1024 characters. Default: any.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Audience string `json:"audience,omitempty"`
	// issuer is what the claim iss of the token must be, such as the instance id of the NRF.
	// It has at most 1024 characters. Default: any.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Issuer string `json:"issuer,omitempty"`
	// scope is a value that the claim scope of the token must have, such as namf-evts.
	// It has at most 1024 characters. Default: any.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Scope string `json:"scope,omitempty"`
}

// ListenerResponse is the answer to a notification. It has no placeholders.
type ListenerResponse struct {
	// status is the status code, from 200 to 599. Default: 204.
	// +optional
	// +kubebuilder:default=204
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	Status int32 `json:"status,omitempty"`
	// headers are up to 16 header fields. content-length is set from the body.
	// Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Headers []ListenerHeader `json:"headers,omitempty"`
	// body is the content. It must be empty with the status 204, 205 or 304.
	// It has at most 65536 characters. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Body string `json:"body,omitempty"`
}

// ListenerHeader is a header field of the answer to a notification.
type ListenerHeader struct {
	// name is the name of the header field. Case does not matter; HTTP/2 sends it in lower case.
	// Pseudo-headers, fields of the connection (RFC 9113 8.2.2) and content-length are refused.
	// It has at most 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// value is the value of the header field. It may be empty.
	// Control characters are refused, and so is white space at either end.
	// It has at most 8192 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Value string `json:"value,omitempty"`
}

// Await is a notification that a step waits for. The step follows the request that causes it. A notification can come
// before the response to this request.
type Await struct {
	// listener is the name of the listener that receives the notification.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Listener string `json:"listener"`
	// match says which notification is that of the chain instance.
	// +required
	Match NotificationMatch `json:"match"`
	// timeout is the longest wait, from the begin of the step.
	// If no notification has come by its end, the step fails, and the notification counts as missing.
	// It is greater than 0 and at most 1h. Default: 5s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Timeout *Duration `json:"timeout,omitempty"`
	// expect is what a notification must be to count as a success.
	// Default: every notification.
	// +optional
	Expect *NotificationExpect `json:"expect,omitempty"`
	// capture are up to 16 values of the notification that later steps of the same chain instance can insert.
	// Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Capture []Capture `json:"capture,omitempty"`
}

// NotificationExpect is what a notification must be.
type NotificationExpect struct {
	// checks are up to 16 checks of the notification, which must all pass. header, body, jsonPointer, jsonPath and xpath
	// are of the notification, and so is request. status is always 200. responseTime is the time from sending the request
	// before the step to the notification. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Checks []Check `json:"checks,omitempty"`
}

// NotificationMatch finds the notification of a chain instance, by its path, by a value of its JSON content, or by
// both. All steps that await a notification of the same listener use the same kind of match, and the same jsonPointer
// or jsonPath.
//
// +kubebuilder:validation:XValidation:rule="has(self.path) || has(self.jsonPointer) || has(self.jsonPath)",message="path, jsonPointer or jsonPath is needed"
// +kubebuilder:validation:XValidation:rule="(has(self.jsonPointer) || has(self.jsonPath)) == has(self.equals)",message="equals goes with jsonPointer or jsonPath"
// +kubebuilder:validation:XValidation:rule="!has(self.jsonPointer) || !has(self.jsonPath)",message="at most one of jsonPointer and jsonPath is possible"
type NotificationMatch struct {
	// path is the path of the notification, without its query. It begins with /, or with a placeholder. It should have a
	// placeholder whose value differs between instances, such as /notify/${id}: of several steps that wait for the same
	// path, the first one gets the notification. With equals, both must match, so one callback can have several
	// events. It has at most 8192 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Path string `json:"path,omitempty"`
	// jsonPointer is the place of the value in the content, such as /subscriptionId (RFC 6901).
	// It has at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	JSONPointer string `json:"jsonPointer,omitempty"`
	// jsonPath is a query for the value, in place of jsonPointer.
	// It has at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	JSONPath string `json:"jsonPath,omitempty"`
	// equals is the value, such as ${subscription}.
	// It has at most 8192 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Equals string `json:"equals,omitempty"`
}
