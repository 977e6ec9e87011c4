package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Template is a request that several steps share. Steps name it, and other requests extend it.
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
//	sha256(x)               lower-case hexadecimal digits (FIPS 180-4)
//	hmacSha256(x, key)      the same for RFC 2104; key is the name of a variable or a capture
//
// +kubebuilder:validation:XValidation:rule="[has(self.body), has(self.bodyBase64), has(self.bodyFrom)].filter(x, x).size() <= 1",message="at most one of body, bodyBase64 and bodyFrom is possible"
type Request struct {
	// extends is the name of a template. The request takes each field that it does not set from that template.
	// Headers and captures are merged by name: those of the template come first, and those of the request
	// replace the ones with the same name. The template may extend another one; a cycle is refused.
	// Default: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Extends string `json:"extends,omitempty"`
	// method is the HTTP method. Methods are case-sensitive, so upper case as a rule; at most 32
	// characters; CONNECT is refused. Default GET.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Method string `json:"method,omitempty"`
	// path is the request's path and query, at most 8192 characters: it begins with / or with a
	// capture such as ${session}, or is * for the method OPTIONS. White space, control and
	// non-ASCII characters must be percent-encoded. The path of the target's url is put before
	// it, unless it begins with a capture. Default /.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Path string `json:"path,omitempty"`
	// headers are sent in this order, after the pseudo-headers, up to 64 of them. A name may
	// occur twice. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Headers []Header `json:"headers,omitempty"`
	// body is the request's content, at most 262144 characters. content-length is set from it;
	// content-type is not set unless headers has it. Default: no content.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Body string `json:"body,omitempty"`
	// bodyBase64 is the request's content in base64 (RFC 4648 4), at most 349528 characters, which
	// are 256 KiB of content. ${name} has no meaning in it.
	// +optional
	// +kubebuilder:validation:MaxLength=349528
	BodyBase64 string `json:"bodyBase64,omitempty"`
	// bodyFrom is the request's content, from a ConfigMap, a Secret or a file.
	// +optional
	BodyFrom *BodyFrom `json:"bodyFrom,omitempty"`
	// timeout bounds the time from sending the request to the end of its response. Greater than
	// 0 and at most 1h. A request that takes longer is counted as timedOut, and its step has
	// failed. The drain at the end of the test lasts as long as the longest timeout. Default 5s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// expect says which responses are a success. Default: those with a status below 400.
	// +optional
	Expect *Expect `json:"expect,omitempty"`
	// capture takes values out of the response, or out of the request itself, for later steps of
	// the same chain instance, up to 16 of them. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Capture []Capture `json:"capture,omitempty"`
	// maxBodyBytes bounds what is kept of a response's body for captures, checks and scripts, 1 to
	// 67108864 (64 MiB). A response that needs looking at and is larger has failed, with the check
	// maxBodyBytes. Bodies that nothing looks at are counted and not kept. Default 1048576 (1 MiB).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	MaxBodyBytes *int32 `json:"maxBodyBytes,omitempty"`
	// script is Lua that changes the request or judges the response; docs/lua.md tells how. Default:
	// none.
	// +optional
	Script *Script `json:"script,omitempty"`
}

// Header is a header field of a request. Exactly one of value and valueFrom is needed.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueFrom)",message="exactly one of value and valueFrom is needed"
type Header struct {
	// name of the field, at most 256 characters; case does not matter, HTTP/2 sends it in lower
	// case. Refused are pseudo-headers, fields specific to a connection (RFC 9113 8.2.2),
	// content-length, which is set from the body, and host, which is set from the target's url.
	// ${name} in it must be a range, list, counter, random, uuid, perShard or env whose values
	// cannot be anything but tokens (RFC 9110 5.6.2).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// value of the field, at most 8192 characters; it may be empty. No control characters, no
	// white space at either end. It is stored and sent as it is: anybody who may read the
	// LoadTest can read it.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	Value *string `json:"value,omitempty"`
	// valueFrom is where the value is, for what is secret; ${name} has no meaning in it, and a line
	// end at its end is removed.
	// +optional
	ValueFrom *ContentSource `json:"valueFrom,omitempty"`
}

// BodyFrom is the content of a request that is not in the manifest. Exactly one of configMap, secret
// and file is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.file)].filter(x, x).size() == 1",message="exactly one of configMap, secret and file is needed"
type BodyFrom struct {
	// configMap is a key of a ConfigMap.
	// +optional
	ConfigMap *KeyReference `json:"configMap,omitempty"`
	// secret is a key of a Secret; nothing else of it is mounted.
	// +optional
	Secret *KeyReference `json:"secret,omitempty"`
	// file is a path where the runner runs: in its container, which needs a volume by
	// runner.podTemplate then, or on the machine of the command line. At most 4096 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
	// encoding is text, in which ${name} has its meaning; binary, which is sent as it is; or
	// base64, which is decoded and sent. Default text.
	// +optional
	// +kubebuilder:default=text
	// +kubebuilder:validation:Enum=text;binary;base64
	Encoding string `json:"encoding,omitempty"`
}

// Expect says which responses are a success. All others are counted as failedChecks, under the name
// of the first check that failed ("status" when it was the status), and their step has failed.
type Expect struct {
	// status lists up to 32 codes ("201") and classes ("2xx"), any of which is a success.
	// Default: every status below 400.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=3
	// +kubebuilder:validation:items:Pattern=`^[1-5]([0-9][0-9]|xx)$`
	Status []string `json:"status,omitempty"`
	// checks must all hold, up to 16 of them; they are made in this order after the status.
	// Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Checks []Check `json:"checks,omitempty"`
}

// Check compares something of the response, or of the request, with a value: one field says what is
// looked at (header to responseTime), one how it is compared (equals to greaterThan). jsonSchema stands
// alone.
//
// +kubebuilder:validation:XValidation:rule="[has(self.header), has(self.status), has(self.body), has(self.jsonPointer), has(self.xpath), has(self.request), has(self.bodySize), has(self.responseTime), has(self.jsonSchema)].filter(x, x).size() == 1",message="exactly one of header, status, body, jsonPointer, xpath, request, bodySize, responseTime and jsonSchema is needed"
// +kubebuilder:validation:XValidation:rule="[has(self.equals), has(self.startsWith), has(self.endsWith), has(self.contains), has(self.matches), has(self.exists), has(self.lessThan), has(self.greaterThan)].filter(x, x).size() == (has(self.jsonSchema) ? 0 : 1)",message="exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed, and none with jsonSchema"
type Check struct {
	// name is the check's name in results: letters, digits, - and _, at most 50 characters; status,
	// script and maxBodyBytes are taken.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$`
	Name        string `json:"name"`
	ValueSource `json:",inline"`
	// bodySize compares the number of octets of the content. Only true is possible.
	// +optional
	// +kubebuilder:validation:Enum=true
	BodySize *bool `json:"bodySize,omitempty"`
	// responseTime compares the time from due to done; lessThan and greaterThan are durations then,
	// such as 20ms. Only true is possible.
	// +optional
	// +kubebuilder:validation:Enum=true
	ResponseTime *bool `json:"responseTime,omitempty"`
	// jsonSchema validates the body against a JSON Schema (draft 2020-12 unless $schema says
	// otherwise). References to other documents are refused. It costs some microseconds a response.
	// +optional
	JSONSchema *JSONSchema `json:"jsonSchema,omitempty"`
	Comparison `json:",inline"`
}

// JSONSchema is where a schema is. Exactly one of inline, configMap and file is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.configMap), has(self.file)].filter(x, x).size() == 1",message="exactly one of inline, configMap and file is needed"
type JSONSchema struct {
	// inline is the schema itself.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Inline *runtime.RawExtension `json:"inline,omitempty"`
	// configMap is a key of a ConfigMap.
	// +optional
	ConfigMap *KeyReference `json:"configMap,omitempty"`
	// file is a path where the runner runs, as in bodyFrom.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`
}

// ValueSource says what a value is taken from. Exactly one of its fields but regex and group is
// needed.
type ValueSource struct {
	// header is a response header field, at most 256 characters; case does not matter, and of
	// several with the same name the first counts.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header string `json:"header,omitempty"`
	// status is the status code, in decimal. Only true is possible.
	// +optional
	// +kubebuilder:validation:Enum=true
	Status *bool `json:"status,omitempty"`
	// body is the whole content. Only true is possible.
	// +optional
	// +kubebuilder:validation:Enum=true
	Body *bool `json:"body,omitempty"`
	// jsonPointer is a value in a JSON body (RFC 6901), at most 1024 characters; "" is the whole
	// document. In an array -1 is the last element, -2 the one before it. A string gives its characters,
	// anything else its JSON text.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	JSONPointer *string `json:"jsonPointer,omitempty"`
	// xpath is an expression (XPath 1.0) on an XML body, at most 1024 characters: the string value of
	// the first node that it selects, or the value of a function.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	XPath string `json:"xpath,omitempty"`
	// request is a part of the request itself, as it was sent.
	// +optional
	Request *RequestSource `json:"request,omitempty"`
	// regex takes a part of the value: the first match of a regular expression (RE2 syntax), at most
	// 1024 characters. Without a match there is no value. Default: the value is taken whole.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Regex string `json:"regex,omitempty"`
	// group is the number of the group of regex that is taken, 0 for the whole match, at most 99.
	// Default: 1 when regex has a group, else 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	Group *int32 `json:"group,omitempty"`
}

// RequestSource is a part of the request. Exactly one of its fields is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.method), has(self.path), has(self.header), has(self.body), has(self.jsonPointer)].filter(x, x).size() == 1",message="exactly one of method, path, header, body and jsonPointer is needed"
type RequestSource struct {
	// method of the request. Only true is possible.
	// +optional
	// +kubebuilder:validation:Enum=true
	Method *bool `json:"method,omitempty"`
	// path and query of the request. Only true is possible.
	// +optional
	// +kubebuilder:validation:Enum=true
	Path *bool `json:"path,omitempty"`
	// header is a request header field; case does not matter.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header string `json:"header,omitempty"`
	// body of the request. Only true is possible.
	// +optional
	// +kubebuilder:validation:Enum=true
	Body *bool `json:"body,omitempty"`
	// jsonPointer is a value in the JSON body of the request, as for responses.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	JSONPointer *string `json:"jsonPointer,omitempty"`
}

// Comparison is how a value is compared. Exactly one of its fields but not is needed. A value that is
// not there fulfils none of them but exists: false; not does not change that.
type Comparison struct {
	// equals is the same text, at most 4096 characters, with holes as in a body. Numbers of JSON are
	// compared as they are written.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Equals *string `json:"equals,omitempty"`
	// startsWith is how the text begins, with holes.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	StartsWith *string `json:"startsWith,omitempty"`
	// endsWith is how the text ends, with holes.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	EndsWith *string `json:"endsWith,omitempty"`
	// contains is a part of the text, with holes.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Contains *string `json:"contains,omitempty"`
	// matches is a regular expression (RE2 syntax) that matches anywhere in the text; ^ and $ bind it
	// to the ends. At most 1024 characters, without holes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Matches string `json:"matches,omitempty"`
	// exists is true when there must be a value, false when there must be none.
	// +optional
	Exists *bool `json:"exists,omitempty"`
	// lessThan is a decimal number such as "10.5", with holes, that the value must be below; a value
	// that is no number is not.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	LessThan string `json:"lessThan,omitempty"`
	// greaterThan is a decimal number, with holes, that the value must be above.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	GreaterThan string `json:"greaterThan,omitempty"`
	// not turns the comparison round; not with exists. Default false.
	// +optional
	Not bool `json:"not,omitempty"`
}

// Capture takes a value out of a response or its request. One field says what it is taken from
// (header to request).
//
// +kubebuilder:validation:XValidation:rule="[has(self.header), has(self.status), has(self.body), has(self.jsonPointer), has(self.xpath), has(self.request)].filter(x, x).size() == 1",message="exactly one of header, status, body, jsonPointer, xpath and request is needed"
// +kubebuilder:validation:XValidation:rule="!has(self.default) || !has(self.optional) || !self.optional",message="at most one of default and optional is possible"
type Capture struct {
	// name is how later steps of the chain refer to it: ${name}. Letters, digits and _, not
	// beginning with a digit, at most 50 characters. A variable must not have the same name; a
	// later step may capture the same name again, which replaces the value. What a setup chain
	// captures all other chains may read; none of these may capture the same name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name        string `json:"name"`
	ValueSource `json:",inline"`
	// default is the value when there is none in the response, at most 1024 characters. Default: a
	// response that lacks the value is a failure of the step.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Default *string `json:"default,omitempty"`
	// optional lets a response lack the value; the capture is empty then. Default false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Script is Lua. Exactly one of lua and luaFrom is needed.
//
// +kubebuilder:validation:XValidation:rule="[has(self.lua), has(self.luaFrom)].filter(x, x).size() == 1",message="exactly one of lua and luaFrom is needed"
type Script struct {
	// lua is the script itself, at most 65536 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Lua string `json:"lua,omitempty"`
	// luaFrom is where the script is.
	// +optional
	LuaFrom *ContentSource `json:"luaFrom,omitempty"`
}
