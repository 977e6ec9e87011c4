package chain

import (
	"bytes"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/location"
	"github.com/h2surge/h2surge/runner/message"
)

// A path can begin with a captured value. The value is then a URI reference: a path, or an absolute URI such as a HAL
// link or a 5G API prefix. When it is captured, it is resolved against its request (RFC 3986 5.2), because :path is a
// path and a query (RFC 9113 8.3.1). The slot has the value as the peer sent it, for bodies and checks. A reference has
// the resolved value, for paths.

// reference is a resolved URI. It is used only if it differs from the value in the slot.
type reference struct {
	slot int
	// scheme and authority are empty if they are those of the request.
	scheme, authority []byte
	// path is path and query. It is empty for a URI such as http://host.
	path []byte
}

// CaptureURI captures a header field that is a URI. The response answers a request of the step to e; request is nil if
// it was not kept. CaptureURI returns false if the value cannot be resolved or if MaxCaptured is reached.
func (s *Step) CaptureURI(in *Instance, c *Capture, request *message.Message, e *rv.Endpoint, value []byte) bool {
	return s.captureURI(in, c.Slot, c.Location, request, e, value)
}

// captureURI is CaptureURI. It renders the path of the request only if it needs it.
func (s *Step) captureURI(in *Instance, slot int, isLocation bool, request *message.Message, e *rv.Endpoint,
	value []byte) bool {
	switch {
	case isResolved(value):
		return in.Capture(slot, value)
	case request != nil:
		return in.captureURI(slot, isLocation, request.Scheme, request.Authority, request.Path, value)
	}
	b := append(append(in.src.uri[:0], e.Scheme...), e.Authority...)
	authority, path := len(e.Scheme), len(b)
	b = s.AppendPath(b, in, e)
	in.src.uri = b
	return in.captureURI(slot, isLocation, b[:authority], b[authority:path], b[path:], value)
}

// isResolved reports that a reference is an absolute path, with or without a query, that resolving does not
// change: it has no scheme, authority, dot segment or fragment, and no octet to percent-encode. Most Location values
// are such paths.
func isResolved(value []byte) bool {
	if len(value) == 0 || value[0] != '/' || len(value) > 1 && value[1] == '/' {
		return false
	}
	before := byte(0)
	for _, c := range value {
		if c <= ' ' || c >= 0x7f || c == '#' || c == '.' && before == '/' {
			return false
		}
		before = c
	}
	return true
}

// captureURI resolves value against a request and captures it. For a location, the slot has path and query (RFC 9110
// 10.2.2), otherwise the value itself. captureURI overwrites Sources.want.
func (in *Instance) captureURI(slot int, isLocation bool, scheme, authority, path, value []byte) bool {
	if len(value) == 0 {
		return !isLocation && in.Capture(slot, value)
	}
	out, found, err := location.AppendResolved(in.src.want[:0], scheme, authority, path, value)
	if err != nil {
		// A path with a space is not a reference. In a request, the space is percent-encoded.
		return !isLocation && isPath(value) && in.Capture(slot, value)
	}
	in.src.want = out
	kept := value
	if isLocation {
		kept = found.Path
	}
	if !in.Capture(slot, kept) {
		return false
	}
	if location.SameAuthority(scheme, authority, found.Scheme, found.Authority) {
		found.Scheme, found.Authority = nil, nil
	}
	in.setReference(slot, kept, pathless(value, found))
	return true
}

// captureFallback captures a default. It resolves only an absolute URI.
func (in *Instance) captureFallback(slot int, value []byte) bool {
	if !in.Capture(slot, value) {
		return false
	}
	if out, found, err := location.AppendResolved(in.src.want[:0], nil, nil, nil, value); err == nil {
		in.src.want = out
		in.setReference(slot, value, pathless(value, found))
	}
	return true
}

// isPath reports whether a value begins with a path and has no authority.
func isPath(value []byte) bool {
	return bytes.HasPrefix(value, slash) && !bytes.HasPrefix(value, twoSlashes)
}

var slash, twoSlashes = []byte("/"), []byte("//")

// pathless removes the slash that replaced an empty path, so that http://host followed by /x has the path /x.
func pathless(value []byte, found location.Reference) location.Reference {
	if len(found.Path) == 1 && value[len(value)-1] != '/' {
		found.Path = nil
	}
	return found
}

// setReference stores the reference of a slot if it differs from the value. Entries after the end of the slice have
// buffers to reuse.
func (in *Instance) setReference(slot int, value []byte, found location.Reference) {
	if len(found.Authority) == 0 && bytes.Equal(value, found.Path) {
		return
	}
	if n := len(in.references); n < cap(in.references) {
		in.references = in.references[:n+1]
	} else {
		in.references = append(in.references, reference{})
	}
	r := &in.references[len(in.references)-1]
	r.slot = slot
	r.set(found)
}

// set copies found.
func (r *reference) set(found location.Reference) {
	r.scheme = append(r.scheme[:0], found.Scheme...)
	r.authority = append(r.authority[:0], found.Authority...)
	r.path = append(r.path[:0], found.Path...)
}

func (in *Instance) dropReference(slot int) {
	for i := range in.references {
		if in.references[i].slot == slot {
			last := len(in.references) - 1
			in.references[i], in.references[last] = in.references[last], in.references[i]
			in.references = in.references[:last]
			return
		}
	}
}

// reference returns the reference of a slot; nil: the value itself.
func (in *Instance) reference(slot int) *reference {
	for i := range in.references {
		if r := &in.references[i]; r.slot == slot {
			return r
		}
	}
	return nil
}

// Published returns the value of a slot for other chains: an absolute URI does not change, and any other reference is
// resolved, because the other chains do not know its request.
func (in *Instance) Published(slot int) string {
	value := in.Captured(slot)
	r := in.reference(slot)
	switch {
	case r == nil || isPath(value) || absolute(value):
		return string(value)
	case len(r.authority) > 0:
		return string(r.scheme) + ":" + string(value) // "//host/path"
	}
	return string(r.path)
}

// absolute reports whether a reference has a scheme; see location.AppendResolved for the allowed ones.
func absolute(value []byte) bool {
	colon := bytes.IndexByte(value, ':')
	return colon > 0 && bytes.IndexByte(value[:colon], '/') < 0
}

// Authority returns the origin of the value that the path of the step begins with. ok is false if it is the origin of
// the request whose response had the value.
func (in *Instance) Authority(s *Step) (scheme, authority []byte, ok bool) {
	if !s.BeginsWithURI {
		return nil, nil, false
	}
	r := s.path[0].reference(in)
	if r == nil || len(r.authority) == 0 {
		return nil, nil, false
	}
	return r.scheme, r.authority, true
}

// AppendAuthority appends host and port that the request of a step names, as they are.
func (in *Instance) AppendAuthority(dst []byte, s *Step) []byte { return s.authority.appendTo(dst, in) }

// reference returns the reference of a piece that a path begins with.
func (p *piece) reference(in *Instance) *reference {
	if p.kind == pieceGlobal {
		if r := &in.src.references[p.index]; len(r.authority) > 0 {
			return r
		}
		return nil
	}
	return in.reference(p.index)
}

// appendBeginning appends the value that a path begins with. A path is never empty.
func (p *piece) appendBeginning(dst []byte, in *Instance) []byte {
	at := len(dst)
	switch r := p.reference(in); {
	case r != nil:
		dst = append(dst, r.path...)
	case p.kind == pieceGlobal:
		dst = append(dst, in.src.globals[p.index]...)
	default:
		dst = append(dst, in.Captured(p.index)...)
	}
	if len(dst) == at && !p.continued {
		dst = append(dst, '/')
	}
	return dst
}

// beginWithURI marks the value that the path begins with, if it does.
func (s *Step) beginWithURI() {
	first := &s.path[0]
	if (first.kind != pieceCapture && first.kind != pieceGlobal) || len(first.functions) > 0 {
		return
	}
	s.BeginsWithURI, first.begins = true, true
	if len(s.path) > 1 {
		next := &s.path[1]
		first.continued = next.kind != pieceLiteral || next.literal[0] == '/'
	}
}

// uses has the captures that paths begin with: by chain and slot, and by global.
type uses struct {
	slots   [][]bool
	globals []bool
}

// pathBeginnings returns the uses of a plan. The plan is not checked yet.
func pathBeginnings(p *rv.Plan) uses {
	u := uses{slots: make([][]bool, len(p.Chains)), globals: make([]bool, len(p.Globals))}
	each := func(visit func(chain int, first *rv.Part)) {
		for i := range p.Chains {
			for j := range p.Chains[i].Steps {
				if path := p.Chains[i].Steps[j].Path; len(path) > 0 && len(path[0].Functions) == 0 {
					visit(i, &path[0])
				}
			}
		}
	}
	each(func(_ int, first *rv.Part) {
		if first.Global > 0 && first.Global <= len(u.globals) {
			u.globals[first.Global-1] = true
		}
	})
	for i := range p.Chains {
		c := &p.Chains[i]
		u.slots[i] = make([]bool, len(c.Captures))
		for slot, global := range c.Publish {
			if slot < len(c.Captures) && global > 0 && global <= len(u.globals) {
				u.slots[i][slot] = u.globals[global-1]
			}
		}
	}
	each(func(i int, first *rv.Part) {
		if slots := u.slots[i]; first.Capture > 0 && first.Capture <= len(slots) {
			slots[first.Capture-1] = true
		}
	})
	return u
}
