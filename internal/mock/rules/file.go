package rules

// APIVersion and Kind stand at the top of a file. No cluster knows this kind: the file is for the
// command line.
const (
	APIVersion = "h2surge.io/v1alpha1"
	Kind       = "Target"
)

// File is a file with the rules of h2surge target. The command line reads it; there is no such kind in a cluster. Paths
// of files in it are relative to the file.
//
// Its types mirror the text; Load checks it. "make manifests" makes a schema of them, with these comments, for "h2surge
// explain" and "h2surge schema".
type File struct {
	// apiVersion is h2surge.io/v1alpha1.
	//
	// +kubebuilder:validation:Enum=h2surge.io/v1alpha1
	APIVersion string `yaml:"apiVersion"`
	// kind is Target.
	//
	// +kubebuilder:validation:Enum=Target
	Kind string `yaml:"kind"`
	// listen is how the target listens. A flag of the command line overrides it.
	Listen *Listen `yaml:"listen,omitempty"`
	// maxDocuments is the maximum number of documents that resources store. Default: 1000000.
	MaxDocuments *int `yaml:"maxDocuments,omitempty"`
	// protoFiles are the proto files of the services of gRPC that the target serves, or sets of descriptors as protoc
	// --include_imports --descriptor_set_out writes them. An import is the file whose path ends with it, or else whose
	// name is its last element. Default: none; calls of gRPC are requests like others then.
	ProtoFiles []string `yaml:"protoFiles,omitempty"`
	// callbacks is how the target sends notifications.
	Callbacks *Callbacks `yaml:"callbacks,omitempty"`
	// rules are the rules for responses. The most specific rule that matches a request answers it; a request that no rule
	// matches gets 404. Bounds: 1 to
	// 10000 rules.
	Rules []Rule `yaml:"rules"`
}

// Callbacks is how the target sends notifications. Files are in PEM.
type Callbacks struct {
	// timeout is how long the target waits for the response to a notification. Default: 10s. Bounds: above 0s, at most 1h.
	Timeout *Duration `yaml:"timeout,omitempty"`
	// caFile is a PEM file with the certificates of the authorities that verify the servers of https URIs. Default: those
	// of the system.
	CAFile string `yaml:"caFile,omitempty"`
	// insecureSkipVerify accepts any certificate of a server. Default: false.
	InsecureSkipVerify bool `yaml:"insecureSkipVerify,omitempty"`
	// certFile is a PEM file with the client certificate for https URIs. It needs keyFile. Default: none.
	CertFile string `yaml:"certFile,omitempty"`
	// keyFile is a PEM file with the key of the client certificate. It needs certFile. Default: none.
	KeyFile string `yaml:"keyFile,omitempty"`
}

// Listen is how the target listens, and what it lets clients do.
type Listen struct {
	// address is the address to listen on, as HOST:PORT. Port 0 picks a free one. It is the flag --listen. Default:
	// 127.0.0.1:8080.
	Address string `yaml:"address,omitempty"`
	// statsAddress is the address to serve the counters on, as HOST:PORT. It is the flag --stats-listen. Default: none.
	StatsAddress string `yaml:"statsAddress,omitempty"`
	// cpu is the number of the CPU to pin the serving thread to, on Linux. It is the flag --cpu. Default: none.
	CPU *int `yaml:"cpu,omitempty"`
	// maxConcurrentStreams is how many streams a client may have open on a connection. It is the flag
	// --max-concurrent-streams. Bounds: 1 to 2147483647.
	MaxConcurrentStreams *int `yaml:"maxConcurrentStreams,omitempty"`
	// resetsPerSecond is how many streams a client may reset each second on a connection, after a burst of 1000. It is the
	// flag --resets-per-second. 0 is 33,
	// -1 is unlimited. Default: 0.
	ResetsPerSecond *int `yaml:"resetsPerSecond,omitempty"`
	// seed is the seed of random selections and values. It is the flag --seed. Default: 0, a random seed.
	Seed *uint64 `yaml:"seed,omitempty"`
}

// Rule says what is answered to the requests it matches.
type Rule struct {
	// name is the name of the rule in statistics and records. It is unique in the file.
	Name string `yaml:"name"`
	// match is which requests the rule answers. All its conditions must be true. Default: all requests.
	Match Match `yaml:"match,omitempty"`
	// resource is what the rule does to stored documents. Default: nothing; then responses is needed.
	Resource *Resource `yaml:"resource,omitempty"`
	// responses are the possible responses. The target picks one for each request at random, in proportion to weight.
	// Default: the response of the resource.
	Responses []Response `yaml:"responses,omitempty"`
	// notify are the notifications that the target sends after a request that it answers with a status below 400. Default:
	// none.
	Notify []Notify `yaml:"notify,omitempty"`
}

// Match is a conjunction; an empty one matches every request.
type Match struct {
	// method is the method of the request. GET does not match HEAD. Default: any.
	Method string `yaml:"method,omitempty"`
	// path is the path of the request without its query: an exact path, a path with segments {name}, each of which stands
	// for one segment, or a path that ends in /** and stands for all paths below it. Default: any.
	Path string `yaml:"path,omitempty"`
	// headers are conditions on header fields. One of several fields with the same name must match.
	Headers []Condition `yaml:"headers,omitempty"`
	// query are conditions on parameters of the query.
	Query []Condition `yaml:"query,omitempty"`
	// body are conditions on the body or on values in its JSON.
	Body []Condition `yaml:"body,omitempty"`
	// eachMessage is true if the rule answers each message of a stream of the client when it arrives, before the stream
	// ends. path must be the path of such a method of protoFiles. Default: false.
	EachMessage bool `yaml:"eachMessage,omitempty"`
}

// Condition has one comparison.
type Condition struct {
	// name is the name of the header field, in lower case, or of the parameter. It can be :method, :path, :scheme or
	// :authority in headers. It is needed in headers and query, and not allowed in body.
	Name string `yaml:"name,omitempty"`
	// jsonPointer is the place of a value in the JSON of the body (RFC 6901). It is allowed in body only. Default: the
	// body as text.
	JSONPointer *string `yaml:"jsonPointer,omitempty"`
	// equals is what the value must be.
	Equals *string `yaml:"equals,omitempty"`
	// startsWith is what the value must begin with.
	StartsWith *string `yaml:"startsWith,omitempty"`
	// endsWith is what the value must end with.
	EndsWith *string `yaml:"endsWith,omitempty"`
	// contains is what the value must contain.
	Contains *string `yaml:"contains,omitempty"`
	// matches is a regular expression (RE2) that the complete value must match.
	Matches *string `yaml:"matches,omitempty"`
	// exists is true if the value must exist, and false if it must not exist.
	Exists *bool `yaml:"exists,omitempty"`
}

// Resource says what a rule does to stored documents.
type Resource struct {
	// collection is the name of the collection of documents. All rules share the collections.
	Collection string `yaml:"collection"`
	// action is what the rule does: create stores the JSON of the request, put creates or replaces a document, read reads
	// it, update replaces it, patch applies a JSON patch or a merge patch, delete deletes it, and list returns an array of
	// documents.
	//
	// +kubebuilder:validation:Enum=create;put;read;update;patch;delete;list
	Action string `yaml:"action"`
	// id is the identifier of the document, a text that can have placeholders such as ${path.id}. It is needed except with
	// create and list. Default: with create a new UUID.
	ID string `yaml:"id,omitempty"`
	// absent is the response if the document does not exist. Default: 404 with the cause DATA_NOT_FOUND.
	Absent *Problem `yaml:"absent,omitempty"`
	// where selects the documents of a list. Each entry must match. It is allowed with list only. Default: all documents.
	Where []Where `yaml:"where,omitempty"`
	// limit is the maximum number of documents in a list. It is allowed with list only. Default: 100. Bounds: 1 to 10000.
	Limit *int `yaml:"limit,omitempty"`
}

// Where selects documents whose value at the pointer equals or contains a text. It has one of both. An empty text
// selects all documents.
type Where struct {
	// jsonPointer is the place of the value in a document (RFC 6901).
	JSONPointer string `yaml:"jsonPointer"`
	// equals is what the value must be, a text that can have placeholders. An empty text selects all documents.
	Equals *string `yaml:"equals,omitempty"`
	// contains is what the value must contain, a text that can have placeholders. An empty text selects all documents.
	Contains *string `yaml:"contains,omitempty"`
	// orAbsent selects documents without such a value, too. Default: false.
	OrAbsent bool `yaml:"orAbsent,omitempty"`
}

// Notify is a request that the target sends after it has answered one with a status below 400.
type Notify struct {
	// name is the name of the notification in statistics.
	Name string `yaml:"name,omitempty"`
	// uri is the URI to send the notification to, a text that can have placeholders such as ${json:/notifyUri}. If its
	// value is not an absolute http or https URI, the notification is not sent.
	URI string `yaml:"uri"`
	// method is the method. Default: POST.
	Method string `yaml:"method,omitempty"`
	// headers are the header fields. If there is a body, content-type is application/json by default.
	Headers []Header `yaml:"headers,omitempty"`
	// body is the body, a text that can have placeholders. Default: no body.
	Body *string `yaml:"body,omitempty"`
	// bodyFile is a file with the body, a text that can have placeholders. It is not allowed with body.
	BodyFile string `yaml:"bodyFile,omitempty"`
	// parts are the parts of a multipart/related body, in place of body.
	Parts []Part `yaml:"parts,omitempty"`
	// delay is the time from the arrival of the request until the notification is sent. Default: none.
	Delay *Delay `yaml:"delay,omitempty"`
	// unsent is the share of the notifications that the target does not send, such as 0.03 or 3%. Default: 0.
	Unsent *Ratio `yaml:"unsent,omitempty"`
	// sentTwice is the share of the notifications that the target sends twice, one after another, such as 0.03 or 3%.
	// Default: 0.
	SentTwice *Ratio `yaml:"sentTwice,omitempty"`
	// forEach sends a notification for each stored document that it selects. Default: one notification.
	ForEach *ForEach `yaml:"forEach,omitempty"`
}

// ForEach selects documents of a collection.
type ForEach struct {
	// collection is the name of the collection.
	Collection string `yaml:"collection"`
	// where selects the documents. Each entry must match. Default: all documents.
	Where []Where `yaml:"where,omitempty"`
	// limit is the maximum number of documents. Default: 10000. Bounds: 1 to 10000.
	Limit *int `yaml:"limit,omitempty"`
}

// Problem is a body of application/problem+json (RFC 9457) with the cause of 3GPP TS 29.500
// section 5.2.7.
type Problem struct {
	// status is the status code. It is needed in problem of a response. Default in absent: 404. Bounds: 400 to 599.
	Status int `yaml:"status,omitempty"`
	// cause is the cause of the error (3GPP TS 29.500 section 5.2.7), such as DATA_NOT_FOUND.
	Cause string `yaml:"cause,omitempty"`
	// title is the title, a text that can have placeholders. Default: the reason phrase of the status.
	Title string `yaml:"title,omitempty"`
	// detail is an explanation, a text that can have placeholders. Default: none.
	Detail string `yaml:"detail,omitempty"`
}

// Response is one of the responses of a rule.
type Response struct {
	// name is for readers of the file.
	Name string `yaml:"name,omitempty"`
	// weight is how often the target picks this response, in proportion to the weights of the others. Default: 1. Bounds:
	// 0 to 1000000.
	Weight *int `yaml:"weight,omitempty"`
	// status is the status code. Default: that of the action of the resource, else 200. Bounds: 200 to 599.
	Status *int `yaml:"status,omitempty"`
	// headers are the header fields. The target sets content-length.
	Headers []Header `yaml:"headers,omitempty"`
	// body is the body, a text that can have placeholders. Default: the document of the resource, else none. An empty text
	// sends none.
	Body *string `yaml:"body,omitempty"`
	// bodyFile is a file with the body, a text that can have placeholders. It is not allowed with body.
	BodyFile string `yaml:"bodyFile,omitempty"`
	// parts are the parts of a multipart/related body, in place of body.
	Parts []Part `yaml:"parts,omitempty"`
	// problem makes the response an error of application/problem+json (RFC 9457), in place of status, headers and body.
	Problem *Problem `yaml:"problem,omitempty"`
	// grpc makes the response a status of gRPC without messages, in place of status, headers and body. It is allowed if
	// the path of the rule matches a method of protoFiles.
	GRPC *GRPCStatus `yaml:"grpc,omitempty"`
	// delay is the time from the arrival of the request until the response is sent. Default: none.
	Delay *Delay `yaml:"delay,omitempty"`
	// pause is the time between two messages of a stream of the server. It is allowed if the path of the rule is the path
	// of such a method of protoFiles. Default: none.
	Pause *Delay `yaml:"pause,omitempty"`
	// unanswered is the share of the requests that get no response and whose stream stays open, such as 0.03 or 3%.
	// Default: 0.
	Unanswered *Ratio `yaml:"unanswered,omitempty"`
	// reset is the share of the requests whose stream the target resets with INTERNAL_ERROR, such as 0.03 or 3%. Default:
	// 0.
	Reset *Ratio `yaml:"reset,omitempty"`
	// close is the share of the requests whose connection the target closes without GOAWAY, such as 0.03 or 3%. Default:
	// 0.
	Close *Ratio `yaml:"close,omitempty"`
	// script is Lua code that can change the response. Default: none.
	Script *Script `yaml:"script,omitempty"`
}

// GRPCStatus is the status of a call that fails.
type GRPCStatus struct {
	// status is the name of the code, such as NOT_FOUND.
	//
	// +kubebuilder:validation:Enum=CANCELLED;UNKNOWN;INVALID_ARGUMENT;DEADLINE_EXCEEDED;NOT_FOUND;ALREADY_EXISTS;PERMISSION_DENIED;RESOURCE_EXHAUSTED;FAILED_PRECONDITION;ABORTED;OUT_OF_RANGE;UNIMPLEMENTED;INTERNAL;UNAVAILABLE;DATA_LOSS;UNAUTHENTICATED
	Status string `yaml:"status"`
	// message is the message of the status, a text that can have placeholders. Default: none.
	Message string `yaml:"message,omitempty"`
}

// Part is a part of a multipart/related body (RFC 2387). It has at most one of Body, BodyHex and BodyFile.
type Part struct {
	// contentType is the content-type of the part.
	ContentType string `yaml:"contentType"`
	// contentID is the Content-ID of the part. Default: none.
	ContentID string `yaml:"contentID,omitempty"`
	// body is the content, a text that can have placeholders. At most one of body, bodyHex and bodyFile is allowed.
	Body string `yaml:"body,omitempty"`
	// bodyHex is the content in hexadecimal digits, in quotes and without placeholders.
	BodyHex string `yaml:"bodyHex,omitempty"`
	// bodyFile is a file with the content, a text that can have placeholders.
	BodyFile string `yaml:"bodyFile,omitempty"`
}

// Header is a response header field; its value is a text.
type Header struct {
	// name is the name of the field, in lower case.
	Name string `yaml:"name"`
	// value is the value, a text that can have placeholders.
	Value string `yaml:"value"`
}

// Script is Lua code that can change a response.
type Script struct {
	// lua is the code, with a function customize_response. Exactly one of lua and luaFile is needed.
	Lua string `yaml:"lua,omitempty"`
	// luaFile is a file with the code.
	LuaFile string `yaml:"luaFile,omitempty"`
}

// Delay has exactly one distribution.
type Delay struct {
	// fixed is a constant delay. Exactly one of fixed, uniform, exponential and normal is needed. Bounds: 0s to 1h.
	Fixed *Duration `yaml:"fixed,omitempty"`
	// uniform is a delay between two bounds, all of which are equally likely.
	Uniform *Uniform `yaml:"uniform,omitempty"`
	// exponential is a delay with an exponential distribution.
	Exponential *Exponential `yaml:"exponential,omitempty"`
	// normal is a delay with a normal distribution, at least 0s and at most 1h.
	Normal *Normal `yaml:"normal,omitempty"`
}

// Uniform is any delay from Min to Max.
type Uniform struct {
	// min is the lowest delay. Default: 0s. Bounds: 0s to max.
	Min *Duration `yaml:"min,omitempty"`
	// max is the highest delay. Bounds: min to 1h.
	Max Duration `yaml:"max"`
}

// Exponential is a distribution with that mean, cut at Max, which is MaxDelay unless given.
type Exponential struct {
	// mean is the mean. Bounds: 0s to 1h.
	Mean Duration `yaml:"mean"`
	// max is the highest delay. Default: 1h. Bounds: 0s to 1h.
	Max *Duration `yaml:"max,omitempty"`
}

// Normal is a normal distribution, cut at 0 and at MaxDelay.
type Normal struct {
	// mean is the mean. Bounds: 0s to 1h.
	Mean Duration `yaml:"mean"`
	// standardDeviation is the standard deviation. Bounds: 0s to 1h.
	StandardDeviation Duration `yaml:"standardDeviation"`
}
