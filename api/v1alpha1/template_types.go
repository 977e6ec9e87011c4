package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Template is a request that several steps share, with the fields of chains.steps.request. Steps name it, and other
// requests extend it.
type Template struct {
	// name is the name of the template in steps and in extends.
	// It has 1 to 50 lower-case letters, digits and -, and begins and ends with a letter or a digit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name    string `json:"name"`
	Request `json:",inline"`
}

// Request is an HTTP request, what its response must be, and what is captured from it.
// Its path, its body, and the names and values of its headers may have placeholders:
// ${name} inserts a variable, or a value that an earlier step of the chain captured;
// ${name.column} inserts a column of a csv variable;
// ${function(name)} inserts the result of a function, and functions may be nested.
// $$ is one dollar sign. A dollar sign before anything else stands for itself. The functions are
//
//	urlEncode(x)            percent-encodes all but unreserved characters (RFC 3986 2.3)
//	base64(x)               with padding (RFC 4648 4)
//	base64url(x)            without padding (RFC 4648 5)
//	jsonEscape(x)           escapes x for the inside of a JSON string (RFC 8259 7)
//	upper(x), lower(x)      changes ASCII letters
//	pad(x, width)           pads with zeros on the left; pad(x, width, c) with the character c
//	hexDecode(x)            the bytes of hexadecimal digits; an odd number of digits gets a 0 before it
//	sha256(x)               lower-case hexadecimal digits (FIPS 180-4)
//	hmacSha256(x, key)      the same for RFC 2104; key is the name of a variable or a capture
//	resStar(x, k, opc, sn)  RES* of 5G AKA for RAND x, in lower-case hexadecimal digits (TS 33.501 A.4); k, opc and sn
//	                        are the names of K, OPc and the serving network name
//	hxresStar(x, rand)      HXRES* for RES* x (TS 33.501 A.5); rand is the name of RAND
//	routingBinding(x)       3gpp-Sbi-Routing-Binding for a 3gpp-Sbi-Binding (TS 29.500 5.2.3.2.5)
//	traceparent(ratio)      a new value of the traceparent header for each request (W3C Trace Context);
//	                        ratio, from 0 to 1, is the share of the values with the sampled flag
//
// +kubebuilder:validation:XValidation:rule="[has(self.body), has(self.bodyBase64), has(self.bodyFrom), has(self.parts)].filter(x, x).size() <= 1",message="at most one of body, bodyBase64, bodyFrom and parts is possible"
type Request struct {
	// path is the path of the request, with its query.
	// It begins with /, or with a capture such as ${session}, or it is * with the method OPTIONS.
	// It can also be an absolute URL such as http://${address}:${port}/a, to send the request to a server that a response
	// named. This needs followAuthority of the target, and the scheme of its url.
	// White space, # and control and non-ASCII characters must be percent-encoded.
	// The path of the target's url comes before it, unless it begins with a capture.
	// It has at most 8192 characters. Default: /.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Path string `json:"path,omitempty"`
	// method is the HTTP method. Methods are case-sensitive.
	// It has at most 32 characters. CONNECT is refused.
	// Default: GET.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Method string `json:"method,omitempty"`
	// headers are up to 64 header fields. The runner sends them in this order, after the pseudo-headers.
	// A name may occur more than once.
	// Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Headers []Header `json:"headers,omitempty"`
	// body is the content of the request.
	// The runner sets content-length from it. It does not set content-type: add that to headers.
	// It has at most 262144 characters. Default: no content.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Body string `json:"body,omitempty"`
	// expect is what a response must be to count as a success.
	// Default: a status below 400.
	// +optional
	Expect *Expect `json:"expect,omitempty"`
	// capture are up to 16 values of the response, or of the request, that later steps of the same chain
	// instance can insert.
	// Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Capture []Capture `json:"capture,omitempty"`
	// timeout is the longest time from sending the request to the end of its response.
	// A request that takes longer counts as timedOut, and its step fails.
	// The drain at the end of the test lasts as long as the longest timeout.
	// It is greater than 0 and at most 1h. Default: 5s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Timeout *Duration `json:"timeout,omitempty"`
	// extends is the name of a template. The request takes each field that it does not set from that template.
	// Headers and captures are merged by name: those of the template come first, and those of the request
	// replace the ones with the same name. The template may extend another one; a cycle is refused.
	// Default: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Extends string `json:"extends,omitempty"`
	// bodyFrom is the source of the content of the request: a ConfigMap, a Secret or a file.
	// +optional
	BodyFrom *BodyFrom `json:"bodyFrom,omitempty"`
	// bodyBase64 is the content of the request in base64 (RFC 4648 4).
	// It has no placeholders.
	// It has at most 349528 characters, which are 256 KiB of content.
	// +optional
	// +kubebuilder:validation:MaxLength=349528
	BodyBase64 string `json:"bodyBase64,omitempty"`
	// parts are the parts of a multipart/related content (RFC 2387), 1 to 8 of them. The first part is the root.
	// The runner sets content-type, with a boundary that is not in the parts, the type of the root, and its
	// contentID as start. Do not add content-type to headers.
	// Default: the content is not multipart.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Parts []BodyPart `json:"parts,omitempty"`
	// maxBodyBytes is the largest size in bytes of a response body that captures, checks or scripts read.
	// A larger body fails the check maxBodyBytes.
	// A body that they do not read has no bound, and the runner does not keep it.
	// It is 1 to 67108864 (64 MiB). Default: 1048576 (1 MiB).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	MaxBodyBytes *int32 `json:"maxBodyBytes,omitempty"`
	// maxRedirects is the largest number of redirects with status 307 or 308 that the request follows (RFC 9110 15.4.8).
	// The runner sends the same request to the Location of the response. Each of them is a request of its own in all
	// counts, and takes a slot. Checks and captures apply to the last response. A redirect to an authority outside the
	// urls of the target needs followAuthority, and is sent without the header fields authorization, cookie,
	// proxy-authorization and 3gpp-Sbi-Client-Credentials of the template. A request with 3gpp-Sbi-Target-apiRoot or
	// 3gpp-Sbi-Discovery-* is redirected through the target instead, with the new apiRoot. A redirect that the runner
	// cannot follow fails the check maxRedirects.
	// It is 0 to 16. Default: 0; the runner follows no redirect, and 307 and 308 are statuses as any other.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16
	MaxRedirects *int32 `json:"maxRedirects,omitempty"`
	// script is Lua code that changes the request or judges the response. docs/reference/lua.md describes it.
	// Default: none.
	// +optional
	Script *Script `json:"script,omitempty"`
	// operation is the name of the service operation that the request executes, such as
	// Nnrf_NFManagement_NFRegister. Results by operation add up the requests of a target with the same operation.
	// It has at most 100 letters, digits and . _ -, and begins with a letter or a digit.
	// Default: the step is an operation of its own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Operation string `json:"operation,omitempty"`
	// priority is how a server should prefer the response over others: the header field priority (RFC 9218).
	// Do not add priority to headers. Default: the request has no such field, which means urgency 3.
	// +optional
	Priority *Priority `json:"priority,omitempty"`
	// grpc makes the request a call of gRPC. It sets the method, the path, the body, and the header fields te,
	// content-type and grpc-timeout; headers are the metadata of the call. The call succeeds if grpc-status
	// is 0, unless a check of the header grpc-status says otherwise; other calls fail the check with the name of their
	// code, such as NOT_FOUND. Checks and captures of the body see the message of the response as JSON, or the list of
	// the messages of a stream; after a failure that a check expects, they see its google.rpc.Status. Default: the request
	// is not a call.
	// +optional
	GRPC *GRPC `json:"grpc,omitempty"`
}

// GRPC is a call. The messages of a stream of the client are sent at once, except for waits between them.
//
// +kubebuilder:validation:XValidation:rule="[has(self.message), has(self.messages)].filter(x, x).size() <= 1",message="at most one of message and messages is possible"
type GRPC struct {
	// service is the full name of the service. Example: helloworld.Greeter.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Service string `json:"service"`
	// method is the name of the method.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Method string `json:"method"`
	// message is the message of the request. It is in the JSON mapping of Protocol Buffers. Strings may have placeholders,
	// and a string can be the value of a number: {"id": "${id}"}. A request with a value that does not fit its field is
	// dropped (cause message). Default: a message without fields.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Message *JSONObject `json:"message,omitempty"`
	// messages are those of a stream of the client. Each is as message. There are 1 to 64. An item can be a wait instead,
	// which delays what follows it: {"@wait": 100ms} for a time, or {"@wait": {"answers": 1}} for so many messages of the
	// response after those of earlier waits. A wait at the end delays the end of the stream.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Messages []JSONObject `json:"messages,omitempty"`
	// deadline is sent as grpc-timeout. After it, the runner resets the call, which counts as timedOut with the cause
	// deadline. It is greater than 0 and at most timeout. Default: timeout.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Deadline *Duration `json:"deadline,omitempty"`
	// compression is how messages are sent. Gzip compresses each message of the request. Compressed messages of responses
	// are read in any case. Default: the messages are not compressed.
	// +optional
	// +kubebuilder:validation:Enum=Gzip
	Compression GRPCCompression `json:"compression,omitempty"`
}

// GRPCCompression is a coding of messages.
type GRPCCompression string

// CompressionGzip is gzip.
const CompressionGzip GRPCCompression = "Gzip"

// JSONObject is a JSON object with any fields.
//
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:validation:Type=object
type JSONObject struct {
	runtime.RawExtension `json:",inline"`
}

// Priority is the value of the header field priority (RFC 9218 4).
type Priority struct {
	// urgency is the order of responses: a server sends those with a lower number first.
	// It is 0 to 7. Default: 3.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:default=3
	Urgency *int32 `json:"urgency,omitempty"`
	// incremental says that the client can use parts of the response, so that a server may send such responses in turn.
	// Default: false; the server sends one such response after the other.
	// +optional
	Incremental bool `json:"incremental,omitempty"`
}

// Header is a header field of a request. Exactly one of value and valueFrom is needed.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueFrom)",message="exactly one of value and valueFrom is needed"
type Header struct {
	// name is the name of the header field. Case does not matter; HTTP/2 sends it in lower case.
	// Pseudo-headers, fields of the connection (RFC 9113 8.2.2), content-length and host are refused: the
	// runner sets content-length from the body, and host from the target's url.
	// A variable in the name must be a range, list, counter, random, uuid, perShard or env, and all its
	// values must be tokens (RFC 9110 5.6.2).
	// It has at most 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// value is the value of the header field. It may be empty.
	// Control characters are refused, and so is white space at either end.
	// A user who can read the LoadTest can read the value: use valueFrom for secrets.
	// It has at most 8192 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Value *string `json:"value,omitempty"`
	// valueFrom is the source of the value, such as a Secret or a field of the pod.
	// The value has no placeholders. The runner removes a line end at its end.
	// +optional
	ValueFrom *ValueFrom `json:"valueFrom,omitempty"`
	// whenEmpty is what the runner does if the value is empty after its placeholders are filled: Send or Omit.
	// Omit needs a name without placeholders.
	// Default: Send; the header has an empty value.
	// +optional
	// +kubebuilder:validation:Enum=Send;Omit
	WhenEmpty HeaderPresence `json:"whenEmpty,omitempty"`
}

// BodyPart is a part of a multipart/related content. At most one of body, bodyHex, bodyBase64 and bodyFrom is
// possible. Without them the part is empty.
//
// +kubebuilder:validation:XValidation:rule="[has(self.body), has(self.bodyHex), has(self.bodyBase64), has(self.bodyFrom)].filter(x, x).size() <= 1",message="at most one of body, bodyHex, bodyBase64 and bodyFrom is possible"
type BodyPart struct {
	// contentType is the Content-Type of the part, such as application/json or application/vnd.3gpp.5gnas.
	// It has no placeholders.
	// It has 3 to 256 characters.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=256
	ContentType string `json:"contentType"`
	// contentID is the Content-ID of the part, by which other parts refer to it.
	// The runner sends it as it is: RFC 2045 7 has it in angle brackets, such as <n1msg>, but many
	// implementations of 3GPP interfaces do not.
	// It has no placeholders, and no other part of the request may have the same contentID.
	// It has 1 to 128 printable ASCII characters without spaces, quotation marks and backslashes. Default: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[!#-\[\]-~]+$`
	ContentID string `json:"contentID,omitempty"`
	// body is the content of the part. It may have placeholders.
	// It has at most 262144 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Body string `json:"body,omitempty"`
	// bodyHex is the content of the part in hexadecimal digits. White space between the digits is ignored.
	// It may have placeholders, whose values are hexadecimal digits: ${x} stands for ${hexDecode(x)}.
	// The number of digits before, between and after placeholders must be even.
	// It has at most 524288 characters, which are 256 KiB of content.
	// +optional
	// +kubebuilder:validation:MaxLength=524288
	BodyHex string `json:"bodyHex,omitempty"`
	// bodyBase64 is the content of the part in base64 (RFC 4648 4).
	// It has no placeholders.
	// It has at most 349528 characters, which are 256 KiB of content.
	// +optional
	// +kubebuilder:validation:MaxLength=349528
	BodyBase64 string `json:"bodyBase64,omitempty"`
	// bodyFrom is the source of the content of the part: a ConfigMap, a Secret or a file.
	// +optional
	BodyFrom *BodyFrom `json:"bodyFrom,omitempty"`
}

// BodyFrom is the source of the content of a request or of a part. Exactly one of configMapKeyRef,
// secretKeyRef and file is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMapKeyRef), has(self.secretKeyRef), has(self.file)].filter(x, x).size() == 1",message="exactly one of configMapKeyRef, secretKeyRef and file is needed"
type BodyFrom struct {
	// configMapKeyRef is a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// secretKeyRef is a key of a Secret; nothing else of it is mounted.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
	// file is a path where the runner runs: in its container, which needs a volume by
	// runner.podTemplate then, or on the machine of the command line. At most 4096 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
	// encoding is how the runner reads the content: Text, Binary or Base64.
	// Text has placeholders. Binary is sent without changes. Base64 is decoded and sent without changes.
	// Default: Text.
	// +optional
	// +kubebuilder:default=Text
	// +kubebuilder:validation:Enum=Text;Binary;Base64
	Encoding Encoding `json:"encoding,omitempty"`
}

// Encoding is how the content of a request is written.
type Encoding string

const (
	// EncodingText has placeholders.
	EncodingText Encoding = "Text"
	// EncodingBinary is sent without changes.
	EncodingBinary Encoding = "Binary"
	// EncodingBase64 is decoded and sent without changes.
	EncodingBase64 Encoding = "Base64"
)

// Expect is what a response must be to count as a success. Every other response counts as failedChecks, and
// its step fails. The report counts it under the name of the first check that failed, or under "status".
type Expect struct {
	// status are up to 32 status codes such as 201 and classes such as 2xx. Each of them is a success.
	// Default: every status below 400.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:items:MaxLength=3
	// +kubebuilder:validation:items:Pattern=`^[1-5]([0-9][0-9]|xx)$`
	// +kubebuilder:validation:items:XValidation:rule="type(self) != int || (self >= 100 && self <= 599)",message="must be a status code from 100 to 599, or a class such as 2xx"
	Status []intstr.IntOrString `json:"status,omitempty"`
	// checks are up to 16 checks of the response, which must all pass.
	// The runner makes them in this order, after the status.
	// Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Checks []Check `json:"checks,omitempty"`
	// usim is the variable whose subscriber answers the challenge.
	// It is the name of subscribers with aka, or of a csv with the columns k, opc and servingNetwork, with scope Instance
	// and an order other than Random. The USIM checks MAC, the separation bit and the sequence number of AUTN in the
	// challenge of 5G AKA or EAP-AKA' in the response (TS 33.501 6.1.3), after the checks.
	// Later steps insert its answers as columns of the variable: ${name.rand}, ${name.resStar}, ${name.kseaf},
	// ${name.eapPayload} of EAP-AKA', and ${name.auts} if the sequence number is not fresh. If no text of the test reads
	// auts or eapPayload, such a number is a failed check. Default: no challenge is answered.
	// +optional
	// +kubebuilder:validation:MaxLength=50
	USIM string `json:"usim,omitempty"`
}

// Check compares a value of the response, or of the request. Exactly one field of header to jsonSchema says
// what is compared, and exactly one field of equals to greaterThan says how. jsonSchema has no comparison.
//
// +kubebuilder:validation:XValidation:rule="[has(self.header), has(self.status), has(self.body), has(self.bodyHex), has(self.jsonPointer), has(self.jsonPath), has(self.xpath), has(self.request), has(self.bodySize), has(self.responseTime), has(self.jsonSchema)].filter(x, x).size() == 1",message="exactly one of header, status, body, bodyHex, jsonPointer, jsonPath, xpath, request, bodySize, responseTime and jsonSchema is needed"
// +kubebuilder:validation:XValidation:rule="[has(self.equals), has(self.startsWith), has(self.endsWith), has(self.contains), has(self.matches), has(self.exists), has(self.lessThan), has(self.greaterThan)].filter(x, x).size() == (has(self.jsonSchema) ? 0 : 1)",message="exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed, and none with jsonSchema"
// +kubebuilder:validation:XValidation:rule="!has(self.part) || !(has(self.header) || has(self.status) || has(self.request) || has(self.responseTime))",message="part does not go with header, status, request and responseTime"
type Check struct {
	// name is the name of the check in results.
	// It has 1 to 50 letters, digits, - and _, and begins and ends with a letter or a digit.
	// The names status, script, maxBodyBytes, maxRedirects and grpcMessage are reserved.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$`
	Name        string `json:"name"`
	ValueSource `json:",inline"`
	// bodySize compares the number of bytes of the content.
	// It is {}.
	// +optional
	BodySize *EmptySource `json:"bodySize,omitempty"`
	// responseTime compares the time from the scheduled time of the request to the end of its response.
	// It is {}. lessThan or greaterThan is then a duration such as 20ms.
	// +optional
	ResponseTime *EmptySource `json:"responseTime,omitempty"`
	// jsonSchema validates the body against a JSON Schema, of draft 2020-12 unless $schema names another one.
	// A schema of a file can refer to files in its directory and below, and one of a ConfigMap to its other keys. An
	// inline schema cannot refer to other documents.
	// The validation takes some microseconds for each response.
	// +optional
	JSONSchema *JSONSchema `json:"jsonSchema,omitempty"`
	Comparison `json:",inline"`
}

// JSONSchema is the source of a schema. It has exactly one field.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type JSONSchema struct {
	// inline is the schema itself.
	// It has at most 10000 objects, arrays and booleans, 524288 characters in all JSON Pointers to them together, and
	// regular expressions of at most 10000 characters each, and together as large as a{100000}.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Inline *runtime.RawExtension `json:"inline,omitempty"`
	// configMapKeyRef is a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`
	// file is a path where the runner runs, as in bodyFrom.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// EmptySource is a source of a value that has no settings: {}.
type EmptySource struct{}

// ValueSource is the source of a value. Exactly one field is needed. part, regex and group may be added.
type ValueSource struct {
	// header is the name of a header field of the response. Case does not matter.
	// The first field counts if several have the name. If the header has none, a field of the trailer section counts.
	// It has at most 256 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header string `json:"header,omitempty"`
	// status takes the status code, in decimal.
	// It is {}.
	// +optional
	Status *EmptySource `json:"status,omitempty"`
	// body takes the whole content.
	// It is {}.
	// +optional
	Body *EmptySource `json:"body,omitempty"`
	// bodyHex takes the whole content in lower-case hexadecimal digits.
	// It is {}.
	// +optional
	BodyHex *EmptySource `json:"bodyHex,omitempty"`
	// part takes the value from a part of a multipart response.
	// It goes with body, bodyHex, jsonPointer, jsonPath and xpath, and in checks with bodySize and jsonSchema, too.
	// It is the Content-ID of the part without angle brackets, such as n1msg, or the media type, such as
	// application/json, of the first part that has it.
	// If the response is not multipart or does not have the part, the value is missing.
	// It has at most 256 characters. Default: the whole content.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Part string `json:"part,omitempty"`
	// jsonPointer is the place of a value in a JSON body (RFC 6901). "" is the whole document.
	// In an array, -1 is the last element and -2 the one before it.
	// A string gives its characters. Every other value gives its JSON text.
	// It has at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	JSONPointer *string `json:"jsonPointer,omitempty"`
	// jsonPath is a query of a JSON body (RFC 9535).
	// It gives the first value that it selects, as jsonPointer does. An example is
	// $.nfInstances[?@.nfType=='UDM'].nfServices[0].
	// Patterns of match and search are texts in quotes. If an object has a name twice, the first one counts.
	// A query that reads 32 times as much as the body has no value.
	// It has at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	JSONPath string `json:"jsonPath,omitempty"`
	// xpath is an expression on an XML body (XPath 1.0).
	// It gives the string value of the first node that it selects, or the value of a function.
	// It has at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	XPath string `json:"xpath,omitempty"`
	// request takes a value of the request, as it was sent.
	// +optional
	Request *RequestSource `json:"request,omitempty"`
	// regex is a regular expression for a part of the value (RE2 syntax). The first match counts.
	// Without a match the value is missing.
	// It has at most 1024 characters. Default: the whole value.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Regex string `json:"regex,omitempty"`
	// group is the number of the group of regex. 0 is the whole match.
	// It is 0 to 99. Default: 1 if regex has a group, else 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	Group *int32 `json:"group,omitempty"`
}

// RequestSource is a value of the request. Exactly one field is needed.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type RequestSource struct {
	// method takes the method.
	// It is {}.
	// +optional
	Method *EmptySource `json:"method,omitempty"`
	// path takes the path and the query.
	// It is {}.
	// +optional
	Path *EmptySource `json:"path,omitempty"`
	// header is the name of a header field of the request. Case does not matter.
	// It has at most 256 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header string `json:"header,omitempty"`
	// body takes the content.
	// It is {}.
	// +optional
	Body *EmptySource `json:"body,omitempty"`
	// jsonPointer is the place of a value in a JSON body of the request, as for responses.
	// It has at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	JSONPointer *string `json:"jsonPointer,omitempty"`
	// jsonPath is a query of a JSON body of the request, as for responses.
	// It has at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	JSONPath string `json:"jsonPath,omitempty"`
}

// Comparison compares a value. Exactly one field is needed. not may be added.
// A missing value passes no comparison but exists: false, and not does not change that.
type Comparison struct {
	// equals is the text that the value must be. It may have placeholders.
	// Numbers of JSON are compared as they are written.
	// It has at most 4096 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Equals *string `json:"equals,omitempty"`
	// startsWith is the text that the value must begin with. It may have placeholders.
	// It has at most 4096 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	StartsWith *string `json:"startsWith,omitempty"`
	// endsWith is the text that the value must end with. It may have placeholders.
	// It has at most 4096 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	EndsWith *string `json:"endsWith,omitempty"`
	// contains is a text that the value must have in it. It may have placeholders.
	// It has at most 4096 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Contains *string `json:"contains,omitempty"`
	// matches is a regular expression that must match somewhere in the value (RE2 syntax).
	// ^ and $ bind it to the ends of the value. It has no placeholders.
	// It has at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Matches string `json:"matches,omitempty"`
	// exists is true if the value must exist, and false if it must not.
	// +optional
	Exists *bool `json:"exists,omitempty"`
	// lessThan is the decimal number that the value must be below, such as "10.5". It may have placeholders.
	// A value that is not a number does not pass.
	// It has at most 256 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	LessThan string `json:"lessThan,omitempty"`
	// greaterThan is the decimal number that the value must be above. It may have placeholders.
	// A value that is not a number does not pass.
	// It has at most 256 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	GreaterThan string `json:"greaterThan,omitempty"`
	// not inverts the comparison. It does not go with exists.
	// Default: false.
	// +optional
	Not bool `json:"not,omitempty"`
}

// Capture takes a value of a response, or of its request, for later steps. Exactly one field of header to
// request says which value.
//
// +kubebuilder:validation:XValidation:rule="[has(self.header), has(self.status), has(self.body), has(self.bodyHex), has(self.jsonPointer), has(self.jsonPath), has(self.xpath), has(self.request)].filter(x, x).size() == 1",message="exactly one of header, status, body, bodyHex, jsonPointer, jsonPath, xpath and request is needed"
// +kubebuilder:validation:XValidation:rule="!has(self.default) || !has(self.optional) || !self.optional",message="at most one of default and optional is possible"
// +kubebuilder:validation:XValidation:rule="!has(self.part) || !(has(self.header) || has(self.status) || has(self.request))",message="part does not go with header, status and request"
type Capture struct {
	// name is the name of the value. Later steps of the chain insert it as ${name}.
	// It has 1 to 50 letters, digits and _, and does not begin with a digit.
	// No variable may have the same name.
	// A later step may capture the same name again, which replaces the value.
	// All other chains can read what a setup chain captures, and must not capture the same name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name        string `json:"name"`
	ValueSource `json:",inline"`
	// default is the value if the response does not have one.
	// It has at most 1024 characters.
	// Default: the step fails if the response does not have the value.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Default *string `json:"default,omitempty"`
	// optional makes the capture empty if the response does not have the value.
	// Default: false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Script is Lua code. Exactly one of lua and luaFrom is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.lua), has(self.luaFrom)].filter(x, x).size() == 1",message="exactly one of lua and luaFrom is needed"
type Script struct {
	// lua is the code.
	// It has at most 65536 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Lua string `json:"lua,omitempty"`
	// luaFrom is the source of the code.
	// +optional
	LuaFrom *ContentSource `json:"luaFrom,omitempty"`
}
