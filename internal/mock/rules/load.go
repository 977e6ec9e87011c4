package rules

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/h2surge/h2surge/internal/mock/documents"
	"github.com/h2surge/h2surge/runner/grpc"
	"github.com/h2surge/h2surge/runner/script"
)

// Bounds of a file.
const (
	// MaxFile is the largest file of rules, in bytes.
	MaxFile = 16 << 20
	// maxBodyFile is the largest bodyFile or luaFile.
	maxBodyFile = 64 << 20
	// maxRules is the largest number of rules.
	maxRules = 10_000
	// maxListed bounds a list's limit.
	maxListed = 10_000
)

// Set is a checked file. It does not change.
type Set struct {
	// Listen is what the file says about listening.
	Listen Listen

	// methods are those of gRPC, by path; schema has their files.
	methods      map[string]*grpc.Method
	schema       *grpc.Schema
	maxDocuments int
	names        []string
	collections  []string // of the rules' resources, "" without one
	// notifications are those of all rules, in the order of the file.
	notifications []NotificationName
	sending       Sending
	// ranked has the rules from the most to the least specific; exact are those of ranked with
	// an exact path, by that path, in the same order.
	scripts []*script.Script
	exact   map[string][]*rule
	inexact []*rule
}

// Names are the rules' names, in the order of the file. Call.Rule is a place in them.
func (s *Set) Names() []string { return s.names }

// Notifications are the names of all notifications, in the order of the file. Notification.Number is a place in them.
func (s *Set) Notifications() []NotificationName { return s.notifications }

// Calls returns whether the file has services of gRPC. The caller of the engine must then send Call.Trailers.
func (s *Set) Calls() bool { return len(s.methods) > 0 }

// Sending is how notifications are sent.
func (s *Set) Sending() Sending { return s.sending }

// LoadFile reads a file. Its errors other than those of reading are Mistakes.
func LoadFile(name string) (*Set, error) {
	data, err := readBounded(name, MaxFile)
	if err != nil {
		return nil, err
	}
	return Load(data, filepath.Dir(name))
}

func readBounded(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes; allowed: at most %d", name, info.Size(), most)
	}
	return os.ReadFile(name)
}

// Load checks the text of a file, in YAML or JSON. The files it names are relative to dir. The
// error is of type Mistakes.
func Load(data []byte, dir string) (*Set, error) {
	s := newSource()
	var f File
	s.parse(data, &f)
	if len(s.mistakes) > 0 && len(f.Rules) == 0 {
		return nil, s.mistakes // of another kind, or not even YAML
	}
	set := s.compile(&f, dir)
	if len(s.mistakes) > 0 {
		slices.SortStableFunc(s.mistakes, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
		return nil, s.mistakes
	}
	return set, nil
}

func (s *source) compile(f *File, dir string) *Set {
	s.compileHead(f)
	var schema *grpc.Schema
	schema, s.methods = s.compileProtos(f.ProtoFiles, dir)
	set := &Set{schema: schema, methods: s.methods, exact: map[string][]*rule{},
		sending:      s.compileCallbacks(f.Callbacks, dir),
		maxDocuments: s.bounded("maxDocuments", f.MaxDocuments, documents.DefaultMax, 0, math.MaxInt)}
	if f.Listen != nil {
		set.Listen = *f.Listen
	}
	if len(f.Rules) > maxRules {
		s.add("rules", "%d entries; allowed: at most %d", len(f.Rules), maxRules)
		return set
	}
	seen := map[string]int{}
	var ranked []*rule
	for i := range f.Rules {
		path := fmt.Sprintf("rules[%d]", i)
		name := f.Rules[i].Name
		if first, twice := seen[name]; twice && name != "" {
			s.add(path+".name", "%q is already the name of rules[%d]", name, first)
		}
		seen[name] = i
		r := s.compileRule(path, &f.Rules[i], i, dir)
		ranked = append(ranked, r)
		set.names = append(set.names, name)
		set.collections = append(set.collections, r.collection())
		for j, n := range r.notify {
			n.number = len(set.notifications)
			set.notifications = append(set.notifications, NotificationName{Rule: name, Name: f.Rules[i].Notify[j].Name})
		}
	}
	slices.SortStableFunc(ranked, (*rule).compare)
	for _, r := range ranked {
		if r.path.class == exactPath {
			set.exact[r.path.exact] = append(set.exact[r.path.exact], r)
		} else {
			set.inexact = append(set.inexact, r)
		}
	}
	set.scripts = s.scripts
	return set
}

func (s *source) compileHead(f *File) {
	if f.APIVersion != APIVersion {
		s.add("apiVersion", "must be %s", APIVersion)
	}
	if f.Kind != Kind {
		s.add("kind", "must be %s", Kind)
	}
	if len(f.Rules) == 0 {
		s.add("rules", "at least one rule is required")
	}
	l := f.Listen
	if l == nil {
		return
	}
	s.checkAddress("listen.address", l.Address)
	s.checkAddress("listen.statsAddress", l.StatsAddress)
	s.bounded("listen.cpu", l.CPU, 0, 0, math.MaxInt)
	s.bounded("listen.maxConcurrentStreams", l.MaxConcurrentStreams, 1, 1, math.MaxInt32)
}

// bounded returns a number, or what it is if the file does not have it.
func (s *source) bounded(path string, n *int, otherwise, least, most int) int {
	if n == nil {
		return otherwise
	}
	switch {
	case *n < 0 && most == math.MaxInt:
		s.add(path, "is negative")
	case *n < least || *n > most:
		s.add(path, "%d is not between %d and %d", *n, least, most)
	}
	return *n
}

func (s *source) checkAddress(path, address string) {
	if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
		s.add(path, "%q is not HOST:PORT", address)
	}
}
