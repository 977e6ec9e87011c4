package runner

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/test/peer"
)

// witness is a server that keeps what it was asked.
type witness struct {
	address string
	mu      sync.Mutex
	lines   []string
}

// serve answers over HTTP/1.1, or HTTP/2 with prior knowledge, and keeps a line for each request.
func serve(t *testing.T, http2 bool, answer func(w http.ResponseWriter, r *http.Request, body string) (line string)) *witness {
	t.Helper()
	w := &witness{}
	w.address = peer.Serve(t, http2, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		line := answer(rw, r, string(body))
		w.mu.Lock()
		w.lines = append(w.lines, line)
		w.mu.Unlock()
	}))
	return w
}

// seen are the lines, sorted, each with how often it came.
func (w *witness) seen() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int{}
	for _, l := range w.lines {
		out[l]++
	}
	return out
}

func text(s string) rv.Text { return rv.Text{{Literal: s}} }

// plain is a plan of one chain to a server, of n requests in a closed loop, over at most eight streams. With more
// requests than streams, instances come to their second steps however long the process does not run.
func plain(w *witness, http2 bool, n int64, steps ...rv.Step) *rv.Plan {
	p := lifeCycle(w.address, rv.Rate{Name: "r", ClosedLoop: true, Requests: n})
	p.Targets[0].MaxConcurrentStreams = 2
	p.Variables = nil
	if !http2 {
		p.Targets[0].Protocol = rv.ProtocolHTTP1
	}
	p.Chains[0].Steps = steps
	return p
}

func get(name string) rv.Step {
	return rv.Step{Name: name, Method: "GET", Path: text("/" + name), Timeout: 5 * time.Second}
}

func execute(t *testing.T, p *rv.Plan, workers int) *rv.Snapshot {
	t.Helper()
	s, err := Run(t.Context(), p, split.Whole(p), Options{Workers: workers}, nil)
	if err != nil {
		t.Fatal(err)
	}
	law(t, s)
	return s
}

func TestAuth(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"user": "ada", "password": "s3cret\n", "token": "t0ken\n", "secret": "client-s3cret"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	issuer := serve(t, true, func(w http.ResponseWriter, r *http.Request, body string) string {
		w.Header().Set("content-type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"from-issuer","token_type":"Bearer","expires_in":3600}`)
		return fmt.Sprint(strings.Contains(body, "targetNfType=PCF"))
	})
	for _, tt := range []struct {
		name  string
		http2 bool
		auth  rv.Auth
		want  string
	}{
		{"basic", false, rv.Auth{Basic: &rv.BasicAuth{UsernameFile: file("user"), PasswordFile: file("password")}}, "Basic YWRhOnMzY3JldA=="},
		{"bearer", true, rv.Auth{Bearer: &rv.BearerAuth{TokenFile: file("token")}}, "Bearer t0ken"},
		{"oauth2", true, rv.Auth{OAuth2: &rv.OAuth2{TokenURL: "http://" + issuer.address + "/oauth2/token", HTTP2: true, ClientID: "id",
			ClientSecretFile: file("secret"), Parameters: map[string]string{"targetNfType": "PCF"}}}, "Bearer from-issuer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := serve(t, tt.http2, func(_ http.ResponseWriter, r *http.Request, _ string) string { return r.Header.Get("authorization") })
			own := get("own")
			own.Headers = []rv.Header{{Name: text("authorization"), Value: text("mine")}}
			const n = 40
			p := plain(w, tt.http2, n, get("a"), own)
			p.Targets[0].Auth = &tt.auth
			execute(t, p, 2)
			// The last instances need not come to their second step.
			if seen := w.seen(); len(seen) != 2 || seen[tt.want] < seen["mine"] || seen["mine"] == 0 || seen[tt.want]+seen["mine"] != n {
				t.Errorf("authorization %v, want %q and \"mine\", of %d", seen, tt.want, n)
			}
		})
	}
	if diff := cmp.Diff(map[string]int{"true": 1}, issuer.seen()); diff != "" {
		t.Errorf("token requests (-want +got):\n%s", diff)
	}
}

func TestNoTokenNoLoad(t *testing.T) {
	w := serve(t, true, func(http.ResponseWriter, *http.Request, string) string { return "" })
	p := plain(w, true, 20, get("a"))
	p.Targets[0].Auth = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: filepath.Join(t.TempDir(), "none")}}
	r := connecting(t, p, split.Whole(p))
	var s *rv.Snapshot
	if !eventually(func() bool {
		s = r.Snapshot()
		return s.Counters.Connects == int64(p.Targets[0].Connections) && strings.Contains(s.Message, "tokenFile")
	}) || s.State != rv.StateConnecting || len(w.seen()) > 0 {
		t.Errorf("%s with %d connections, problem %q, the target has seen %v", s.State, s.Counters.Connects, s.Message, w.seen())
	}
}

// TestFollowAuthority: the other authority gets the token of the target only if the plan says so.
func TestFollowAuthority(t *testing.T) {
	for credentials, want := range map[bool]string{false: "", true: "Bearer t0ken"} {
		t.Run(fmt.Sprintf("credentials %v", credentials), func(t *testing.T) { testFollowAuthority(t, credentials, want) })
	}
}

func testFollowAuthority(t *testing.T, credentials bool, want string) {
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("t0ken"), 0o600); err != nil {
		t.Fatal(err)
	}
	tell := func(_ http.ResponseWriter, r *http.Request, _ string) string {
		return r.Host + r.URL.String() + " " + r.Header.Get("authorization")
	}
	// The target answers one request, and the others once the other authority was asked: some slots are left then.
	asked := make(chan struct{})
	var answered atomic.Bool
	var once sync.Once
	other := serve(t, true, func(w http.ResponseWriter, r *http.Request, body string) string {
		once.Do(func() { close(asked) })
		return tell(w, r, body)
	})
	first := serve(t, true, func(w http.ResponseWriter, r *http.Request, body string) string {
		if answered.Swap(true) {
			select {
			case <-asked:
			case <-r.Context().Done():
			}
		}
		w.Header().Set("location", "http://"+other.address+"/things/1?x=1#part")
		return tell(w, r, body)
	})
	next := get("next")
	next.Path = rv.Text{{Capture: 1}}
	create := get("a")
	create.Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}, Location: true}}
	p := plain(first, true, 40, create, next)
	p.Targets[0].FollowAuthority, p.Targets[0].FollowWithCredentials = true, credentials
	p.Targets[0].Auth = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: secret}}
	s := execute(t, p, 2)
	if s.Counters.Succeeded != 40 {
		t.Errorf("%+v", s.Counters)
	}
	a, b := s.Steps[0].Sent, s.Steps[1].Sent
	if b == 0 {
		t.Error("no request has followed")
	}
	if diff := cmp.Diff(map[string]int{first.address + "/a Bearer t0ken": int(a)}, first.seen()); diff != "" {
		t.Errorf("the target (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{other.address + "/things/1?x=1 " + want: int(b)}, other.seen()); diff != "" {
		t.Errorf("the other authority (-want +got):\n%s", diff)
	}
}

func TestSetupAndTeardownRunOnce(t *testing.T) {
	t.Parallel()
	w := serve(t, true, func(w http.ResponseWriter, r *http.Request, _ string) string {
		w.Header().Set("x-token", "t1")
		return r.URL.Path
	})
	load := get("load")
	load.Path = rv.Text{{Literal: "/load/"}, {Global: 1}}
	p := plain(w, true, 300, load)
	p.Globals = []string{"token"}
	login := get("login")
	login.Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceHeader, Name: "x-token"}}}
	logout := get("logout")
	logout.Path = rv.Text{{Literal: "/logout/"}, {Global: 1}}
	p.Chains = append(p.Chains,
		rv.Chain{Name: "login", Phase: rv.PhaseSetup, Weight: 1, Captures: []string{"token"}, Publish: []int{1}, Steps: []rv.Step{login}},
		rv.Chain{Name: "logout", Phase: rv.PhaseTeardown, Weight: 1, Steps: []rv.Step{logout}})
	s := execute(t, p, 3)
	if diff := cmp.Diff(map[string]int{"/login": 1, "/load/t1": 300, "/logout/t1": 1}, w.seen()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if w.lines[0] != "/login" || w.lines[len(w.lines)-1] != "/logout/t1" {
		t.Errorf("the first is %s, the last %s", w.lines[0], w.lines[len(w.lines)-1])
	}
	if s.Counters.Setup.Sent != 1 || s.Counters.Teardown.Succeeded != 1 || s.Counters.Sent != 300 || s.Globals != nil {
		t.Errorf("%+v, globals %v", s.Counters, s.Globals)
	}
}

func TestSetupFailureEndsTheRun(t *testing.T) {
	w := serve(t, true, func(w http.ResponseWriter, r *http.Request, _ string) string {
		w.WriteHeader(http.StatusForbidden)
		return r.URL.Path
	})
	p := plain(w, true, 300, get("load"))
	p.Chains = append(p.Chains, rv.Chain{Name: "login", Phase: rv.PhaseSetup, Weight: 1, Steps: []rv.Step{get("login")}})
	s, err := Run(t.Context(), p, split.Whole(p), Options{Workers: 3}, nil)
	if err == nil || s.Problem != rv.ProblemSetup || !strings.Contains(err.Error(), "step login: failed check status (status 403)") {
		t.Errorf("error %v, problem %q", err, s.Problem)
	}
	if diff := cmp.Diff(map[string]int{"/login": 1}, w.seen()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestLanguageOverHTTP1(t *testing.T) {
	w := serve(t, false, func(w http.ResponseWriter, r *http.Request, body string) string {
		w.Header().Set("set-cookie", "id="+r.URL.Path[1:]+"; Path=/")
		_, _ = io.WriteString(w, `{"next":["x","y"]}`)
		return fmt.Sprintf("%s %s cookie=%s x=%s", r.Method, r.URL, r.Header.Get("cookie"), r.Header.Get("x-lua"))
	})
	a := get("a")
	a.Capture = []rv.Capture{{Source: rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/next/-1"}}}
	b := get("b")
	b.Path = rv.Text{{Literal: "/b?v="}, {Capture: 1, Functions: []rv.Function{{Name: rv.FunctionUpper}}}}
	b.Script = &rv.Script{Name: "script", Content: rv.Content{Text: `function on_request(req, prev) req:set_header("x-lua", #prev.body) end`}}
	p := plain(w, false, 40, a, b)
	p.Chains[0].Cookies = true
	s := execute(t, p, 2)
	if s.Counters.Succeeded != 40 {
		t.Errorf("%+v", s.Counters)
	}
	var got []string
	for line := range w.seen() {
		got = append(got, line)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"GET /a cookie= x=", "GET /b?v=Y cookie=id=a x=18"}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestTeardownFailureIsReported: a teardown chain that fails is in the final snapshot, with its step and why.
func TestTeardownFailureIsReported(t *testing.T) {
	w := serve(t, true, func(w http.ResponseWriter, r *http.Request, _ string) string {
		if r.URL.Path == "/logout" {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.URL.Path
	})
	p := plain(w, true, 10, get("load"))
	logout := get("logout")
	logout.Path = rv.Text{{Literal: "/logout"}}
	p.Chains = append(p.Chains, rv.Chain{Name: "logout", Phase: rv.PhaseTeardown, Weight: 1, Steps: []rv.Step{logout}})
	if got, want := execute(t, p, 1).TeardownFailure, "chain logout: step logout: failed check status (status 403)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
