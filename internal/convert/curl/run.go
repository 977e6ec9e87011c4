package curl

import (
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// OwnData is the name of the flag -d of "h2surge run". Its value is that of --data-binary, and it adds no content-type.
const OwnData = "-d"

// Request is what flags say about requests and about their target.
type Request struct {
	v1alpha1.Request
	// Target has no protocol, because the server chooses it. Its URL is empty unless a header field names another host.
	Target v1alpha1.Target
}

// Read reads flags for requests to a URL that run now. The path of the request is that of the URL, with the query of
// --get.
func Read(given []Flag, url string, read convert.Reader) (r Request, warnings []string, err error) {
	d := convert.New("", convert.Options{Read: read, Unsaved: true})
	c := &converter{Draft: d, flagValues: values(d, given), given: given}
	if c.address([]string{url}) {
		c.target()
		c.template()
		r.Request, r.Target = c.Spec().Templates[0].Request, c.Spec().Targets[0]
		r.Target.Protocol = ""
		if r.Target.URL == c.url.Base() {
			r.Target.URL = ""
		}
	}
	return r, d.Warnings(), d.Err()
}
