package convert

import "encoding/json"

const (
	// MaxApplied is the most octets of an object that "kubectl apply" accepts. It puts a copy of the object, in JSON, into
	// an annotation, and the annotations of an object have at most 256 KiB.
	MaxApplied = 250 << 10
	// TooLargeToApply is the warning about a larger one.
	TooLargeToApply = "is too large for kubectl apply; use kubectl apply --server-side, or kubectl h2surge run"
)

// warnOfSize warns about objects that "kubectl apply" does not accept.
func (d *Draft) warnOfSize() {
	for _, o := range d.objects() {
		if text, err := json.Marshal(o); err == nil && len(text) > MaxApplied {
			d.Warn(o.GetObjectKind().GroupVersionKind().Kind, TooLargeToApply)
		}
	}
}
