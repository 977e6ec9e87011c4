package location

import (
	"bytes"
	"errors"

	"github.com/h2surge/h2surge/internal/octet"
)

// What can be wrong with a reference. The values are fixed, so that a target that sends nothing
// else costs no allocation either.
var (
	errOctet     = errors.New("the reference has a space or a control character (RFC 3986 2)")
	errColon     = errors.New("the text before the first colon is not a scheme (RFC 3986 3.1, 4.2)")
	errScheme    = errors.New("the scheme is neither http nor https (RFC 9110 4.2)")
	errNoHost    = errors.New("the host is missing (RFC 9110 4.2.1)")
	errUserinfo  = errors.New("the authority has user information (RFC 9110 4.2.4)")
	errAuthority = errors.New("the authority is not host and port (RFC 3986 3.2)")
)

// Reference is the outcome of a resolution.
type Reference struct {
	// Scheme is "http" or "https".
	Scheme []byte
	// Authority is in lower case. A port that is the scheme's default stays, if it was given.
	Authority []byte
	// Path is the path and the query, as a request target has them: it begins with a slash, and has no
	// dot segments unless the request's own path has them and the reference has no path.
	Path []byte
}

// AppendResolved resolves reference against a request's scheme, authority and path, which may have a
// query. It appends the result to dst and returns it taken apart; the parts belong to out and are
// valid as long as its octets are left alone. On an error out is dst.
//
// A fragment is dropped. Octets above 127 in path and query are percent-encoded (RFC 3987 3.1), in
// the authority they are an error. Other octets stay, those that RFC 3986 does not know in a path too.
func AppendResolved(dst []byte, scheme, authority, path, reference []byte) (out []byte, ref Reference, err error) {
	r, err := split(reference)
	if err != nil {
		return dst, Reference{}, err
	}
	if err := r.inherit(scheme, authority); err != nil {
		return dst, Reference{}, err
	}
	basePath, baseQuery := cutQuery(path)
	start := len(dst)
	out = append(dst, r.scheme...)
	atAuthority := len(out)
	out = append(out, r.authority...)
	atPath := len(out)
	octet.ToLower(out[start:])
	switch {
	case r.hasAuthority || len(r.path) > 0 && r.path[0] == '/':
		out = appendSegments(out, atPath, bytes.TrimPrefix(r.path, slash), true)
	case len(r.path) == 0:
		out = appendEncoded(out, basePath)
		if r.query == nil {
			r.query = baseQuery
		}
	default:
		if i := bytes.LastIndexByte(basePath, '/'); i > 0 {
			out = appendSegments(out, atPath, basePath[1:i], false)
		}
		out = appendSegments(out, atPath, r.path, true)
	}
	out = appendEncoded(out, r.query)
	return out, Reference{
		Scheme:    out[start:atAuthority:atAuthority],
		Authority: out[atAuthority:atPath:atPath],
		Path:      out[atPath:len(out):len(out)],
	}, nil
}

// inherit adds the missing parts of a reference from the request (RFC 3986 5.2.2). A reference with a scheme is
// complete, even if it is the scheme of the request.
func (r *parts) inherit(scheme, authority []byte) error {
	if r.scheme == nil {
		r.scheme = scheme
		if r.authority == nil {
			r.authority = authority
		}
	}
	if !octet.EqualFold(r.scheme, "http") && !octet.EqualFold(r.scheme, "https") {
		return errScheme
	}
	if len(r.authority) == 0 {
		return errNoHost
	}
	return nil
}

var slash = []byte{'/'}

// appendSegments appends path, which has no leading slash, to the path that starts at start of dst. It removes dot
// segments (RFC 3986 5.2.4). last is true for the last part of a path.
func appendSegments(dst []byte, start int, path []byte, last bool) []byte {
	for more := true; more; {
		segment := path
		i := bytes.IndexByte(path, '/')
		if more = i >= 0; more {
			segment, path = path[:i], path[i+1:]
		}
		switch string(segment) {
		case ".":
		case "..":
			dst = dst[:start+max(0, bytes.LastIndexByte(dst[start:], '/'))]
		default:
			dst = appendEncoded(append(dst, '/'), segment)
			continue
		}
		if last && !more {
			dst = append(dst, '/')
		}
	}
	return dst
}

// appendEncoded percent-encodes what is not ASCII.
func appendEncoded(dst, s []byte) []byte {
	for _, c := range s {
		if c < 0x80 {
			dst = append(dst, c)
		} else {
			dst = octet.AppendPercent(dst, c)
		}
	}
	return dst
}

// cutQuery cuts the target of a request. That of OPTIONS may be "*", which stands for no path at all
// (RFC 9110 7.1).
func cutQuery(target []byte) (path, query []byte) {
	path = target
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		path, query = target[:i], target[i:]
	}
	if len(path) == 0 || path[0] != '/' {
		path = slash
	}
	return path, query
}
