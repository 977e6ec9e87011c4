package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Listener is an HTTP/2 server of each runner, without TLS, for notifications that the services under load send. A request
// gives them its URL with the placeholder ${listener.NAME.url}, and a step waits for them with await. The URL reaches the
// worker that has sent the request.
type Listener struct {
	// name is the name of the listener in placeholders, in steps and in results.
	// It has 1 to 50 lower-case letters, digits and -, and begins and ends with a letter or a digit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// port is the port of the first worker of a runner. Each further worker has the next port.
	// Ports of two listeners must not overlap.
	// It is 1024 to 65000. Default: the system chooses a port for each worker.
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65000
	Port *int32 `json:"port,omitempty"`
	// response is the answer to each notification, also to one that no step awaits.
	// Default: 204 without content.
	// +optional
	// +kubebuilder:default={}
	Response ListenerResponse `json:"response,omitzero"`
	// maxBodyBytes is the largest size in bytes of a content that match, checks and captures read.
	// A larger content fails the check maxBodyBytes.
	// It is 1 to 67108864 (64 MiB). Default: 1048576 (1 MiB).
	// +optional
	// +kubebuilder:default=1048576
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	MaxBodyBytes int32 `json:"maxBodyBytes,omitempty"`
	// keep is how long a notification that comes before its step waits for it, and how long late and duplicate ones are
	// recognised. A test ends this long after its last notification.
	// It is greater than 0 and at most 1h. Default: 1s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Keep *metav1.Duration `json:"keep,omitempty"`
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

// Await is a notification that a step waits for. The step follows the request that causes it. A notification can come before the
// response to this request.
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
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|\x{b5}s|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be greater than 0 and at most 1h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
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
	// checks are up to 16 checks of the notification, which must all pass. header, body, jsonPointer and xpath are of the notification,
	// and so is request. status is always 200. responseTime is the time from sending the request before the step to the notification.
	// Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Checks []Check `json:"checks,omitempty"`
}

// NotificationMatch finds the notification of a chain instance, by its path or by a value of its JSON content. All steps that await a
// notification of the same listener use the same kind of match, and the same jsonPointer.
//
// +kubebuilder:validation:XValidation:rule="has(self.path) != has(self.jsonPointer)",message="exactly one of path and jsonPointer is needed"
// +kubebuilder:validation:XValidation:rule="has(self.jsonPointer) == has(self.equals)",message="jsonPointer and equals go together"
type NotificationMatch struct {
	// path is the path of the notification, without its query. It should have a placeholder whose value differs between instances,
	// such as /notify/${id}: of several steps that wait for the same path, the first one gets the notification.
	// It has at most 8192 characters.
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
	// equals is the value, such as ${subscription}.
	// It has at most 8192 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Equals string `json:"equals,omitempty"`
}
