package cookie

import (
	"bytes"

	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/location"
)

const (
	// maxCookies and maxOctets bound a jar; RFC 6265 6.1 asks for 50 of a domain.
	maxCookies = 64
	maxOctets  = 16 << 10
)

// Jar holds the cookies of one virtual client. The zero value is empty and ready. It is owned by one
// worker: no method may be called while another runs.
type Jar struct {
	// cookies are in the order in which they are sent (RFC 6265 5.4 step 2): longer paths first,
	// then earlier creation.
	cookies []cookie
	// octets holds the texts of all cookies without gaps.
	octets []byte
	// clock orders the calls of Set.
	clock uint64
}

// cookie is one entry. Its name, value, domain and path stand in this order at offset at of the
// jar's octets; a jar is small enough for 16 bits.
type cookie struct {
	expires int64 // ns; never: until the jar is cleared
	created uint64
	stored  uint64

	at                        uint16
	name, value, domain, path uint16 // lengths

	hostOnly, secure bool
}

func (c *cookie) size() int { return int(c.name) + int(c.value) + int(c.domain) + int(c.path) }

// pair is the name and the value; where is the domain, in any case, and the path.
func (j *Jar) pair(c *cookie) (name, value []byte) {
	b := j.octets[c.at:]
	return b[:c.name], b[c.name : int(c.name)+int(c.value)]
}

func (j *Jar) where(c *cookie) (domain, path []byte) {
	b := j.octets[int(c.at)+int(c.name)+int(c.value):]
	return b[:c.domain], b[c.domain : int(c.domain)+int(c.path)]
}

// Clear forgets all cookies and keeps the memory.
func (j *Jar) Clear() { j.cookies, j.octets, j.clock = j.cookies[:0], j.octets[:0], 0 }

// Set handles the value of a Set-Cookie field in the response to a request for host and path. now is Unix time in
// nanoseconds, secure is true for a connection with TLS. host may have a port and any case, path may have a query. Set
// ignores what RFC 6265 says to ignore. It does not keep its arguments.
func (j *Jar) Set(now int64, secure bool, host, path, header []byte) {
	s, ok := parse(header, now)
	if !ok {
		return
	}
	host, _ = location.CutPort(host)
	hostOnly := true
	domain := host
	if len(s.domain) > 0 {
		if hostOnly, ok = scope(host, s.domain); !ok {
			return
		}
		domain = s.domain
	}
	if !prefixAllows(&s, secure) {
		return
	}
	if s.path == nil {
		s.path = defaultPath(path)
	}
	j.store(now, &s, domain, hostOnly)
}

// store is RFC 6265 5.3 from step 11 on: a cookie with the same name, domain and path is replaced
// and its creation time kept, and one that has expired already only removes it.
func (j *Jar) store(now int64, s *setCookie, domain []byte, hostOnly bool) {
	size := len(s.name) + len(s.value) + len(domain) + len(s.path)
	if size > maxOctets {
		return
	}
	j.clock++
	created := j.clock
	if i := j.find(s.name, domain, s.path); i >= 0 {
		created = j.cookies[i].created
		j.remove(i)
	}
	if s.expires <= now {
		return
	}
	j.evict(now, size)
	c := cookie{ // all lengths are at most size
		expires: s.expires, created: created, stored: j.clock, at: uint16(len(j.octets)),
		name: uint16(len(s.name)), value: uint16(len(s.value)), domain: uint16(len(domain)), path: uint16(len(s.path)),
		hostOnly: hostOnly, secure: s.secure,
	}
	j.octets = append(append(j.octets, s.name...), s.value...)
	j.octets = append(append(j.octets, domain...), s.path...)
	j.insert(c)
}

func (j *Jar) find(name, domain, path []byte) int {
	for i := range j.cookies {
		c := &j.cookies[i]
		if int(c.name) != len(name) || int(c.path) != len(path) {
			continue
		}
		n, _ := j.pair(c)
		d, p := j.where(c)
		if bytes.Equal(n, name) && bytes.Equal(p, path) && octet.EqualFold(d, domain) {
			return i
		}
	}
	return -1
}

// insert puts c where it will be sent.
func (j *Jar) insert(c cookie) {
	i := len(j.cookies)
	for i > 0 && j.cookies[i-1].after(&c) {
		i--
	}
	j.cookies = append(j.cookies, cookie{})
	copy(j.cookies[i+1:], j.cookies[i:])
	j.cookies[i] = c
}

func (c *cookie) after(d *cookie) bool {
	return c.path < d.path || c.path == d.path && c.created > d.created
}

// remove takes cookie i and its octets out.
func (j *Jar) remove(i int) {
	c := j.cookies[i]
	size := c.size()
	j.octets = append(j.octets[:c.at], j.octets[int(c.at)+size:]...)
	j.cookies = append(j.cookies[:i], j.cookies[i+1:]...)
	for k := range j.cookies {
		if j.cookies[k].at > c.at {
			j.cookies[k].at -= uint16(size)
		}
	}
}

// evict removes cookies until another one of size octets, at most maxOctets, fits.
func (j *Jar) evict(now int64, size int) {
	if j.fits(size) {
		return
	}
	for i := len(j.cookies) - 1; i >= 0; i-- {
		if j.cookies[i].expires <= now {
			j.remove(i)
		}
	}
	for !j.fits(size) {
		oldest := 0
		for i := range j.cookies {
			if j.cookies[i].stored < j.cookies[oldest].stored {
				oldest = i
			}
		}
		j.remove(oldest)
	}
}

func (j *Jar) fits(size int) bool {
	return len(j.cookies) < maxCookies && len(j.octets)+size <= maxOctets
}

// AppendHeader appends the value of the Cookie field of a request for host and path, in the order of
// RFC 6265 5.4, or nothing when no cookie is for it. The arguments are as those of Set.
func (j *Jar) AppendHeader(dst []byte, now int64, secure bool, host, path []byte) []byte {
	if len(j.cookies) == 0 {
		return dst
	}
	host, _ = location.CutPort(host)
	path = withoutQuery(path)
	start := len(dst)
	for i := range j.cookies {
		c := &j.cookies[i]
		if c.expires <= now || c.secure && !secure || !j.isFor(c, host, path) {
			continue
		}
		if len(dst) > start {
			dst = append(dst, "; "...)
		}
		name, value := j.pair(c)
		dst = append(append(append(dst, name...), '='), value...)
	}
	return dst
}

// isFor is the first and the second condition of RFC 6265 5.4 step 1.
func (j *Jar) isFor(c *cookie, host, path []byte) bool {
	domain, prefix := j.where(c)
	if c.hostOnly {
		return octet.EqualFold(host, domain) && pathMatch(path, prefix)
	}
	return domainMatch(host, domain) && pathMatch(path, prefix)
}
