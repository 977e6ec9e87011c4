package chain

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/multipart"
)

// parts builds a multipart/related body and its Content-Type (RFC 2387). The body is one text: the delimiters are
// literals between the texts of the parts. The boundary is the same on all shards, because it depends on the seed of
// the plan and the names of the chain and the step, unless a file that differs between shards contains it.
func (b *builder) parts(in *rv.Step) (body text, contentType string) {
	contents := make([]text, len(in.Parts))
	var literals [][]byte
	for i := range in.Parts {
		p := &in.Parts[i]
		b.item("parts", i)
		contents[i] = b.content(p.Body, p.BodyFrom)
		if problem := multipart.TypeProblem(p.ContentType); problem != "" {
			b.failf("contentType: %q: %s", p.ContentType, problem)
		}
		if problem := multipart.IDProblem(p.ContentID); problem != "" {
			b.failf("contentID: %q: %s", p.ContentID, problem)
		}
		for _, piece := range contents[i] {
			literals = append(literals, piece.literal)
		}
	}
	boundary := multipart.Boundary(b.g.Seed, b.chain.Name+"/"+in.Name, literals...)
	for i := range in.Parts {
		p := &in.Parts[i]
		body = body.join([]byte(multipart.Before(boundary, p.ContentType, p.ContentID, i == 0)))
		for _, piece := range contents[i] {
			body = body.add(piece)
		}
	}
	return body.join([]byte(multipart.End(boundary))), multipart.Type(boundary, in.Parts[0].ContentType,
		in.Parts[0].ContentID)
}
