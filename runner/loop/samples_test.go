package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestSamples: a few failed responses of each step and status are kept, with secrets masked, however many fail.
func TestSamples(t *testing.T) {
	n := 0
	b := newBench(t, gets(perSecond(100, time.Second)), func(*simRequest) reply {
		if n++; n%10 == 9 {
			return reply{Status: 404}
		}
		if n%2 == 0 {
			return reply{Status: 200}
		}
		return reply{
			Status: 503, Headers: []string{"retry-after", "5", "set-cookie", "id=abc", "x-link", "/a?access_token=abc&b=1"},
			Body: []byte(`{"title":"busy","access_token":"abc","n":` + fmt.Sprint(n) + `}` + strings.Repeat(" ", 2000)),
		}
	})
	b.run()
	got := map[int][]rv.Sample{}
	for _, s := range b.w.Read().Samples {
		got[s.Status] = append(got[s.Status], s)
	}
	if len(got[503]) != rv.MaxSamplesAlike || len(got[404]) != rv.MaxSamplesAlike || len(got) != 2 {
		t.Fatalf("samples %+v", got)
	}
	s := got[503][0]
	body := s.Body
	s.At, s.Body = 0, ""
	want := rv.Sample{
		Chain: "c", Step: "get", Check: rv.CheckStatus, Status: 503, BodySize: s.BodySize,
		Header: []rv.SampleField{{Name: "retry-after", Value: "5"}, {Name: "set-cookie", Value: "***"}, {Name: "x-link", Value: "/a?access_token=***&b=1"}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(body, `{"title":"busy","access_token":"***","n":`) || len(body) != rv.MaxSampleOctets || s.BodySize < 2000 {
		t.Errorf("body %q of %d octets", body, s.BodySize)
	}
	if b.w.rec.WantsSample(0) {
		t.Error("more samples are gathered than are kept")
	}
}

// TestSampleOfOneFailure: a single failure has a sample too, though its header was not gathered.
func TestSampleOfOneFailure(t *testing.T) {
	b := newBench(t, gets(perSecond(10, time.Second)), nil)
	b.serve = func(*simRequest) reply {
		if len(b.served) == 5 {
			return reply{Status: 500, Headers: []string{"a", "b"}, Body: []byte("why")}
		}
		return reply{Status: 200}
	}
	b.run()
	got := b.w.Read().Samples
	if len(got) != 1 || got[0].Body != "why" || got[0].Status != 500 {
		t.Errorf("%+v", got)
	}
}
