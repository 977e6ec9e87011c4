package v1alpha1

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// startTimeFormat is the form of ${startTime} in the path of a result. The names of objects then sort by time.
const startTimeFormat = "20060102T150405Z"

var (
	placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)
	bucketName  = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// pathText is the text of a path between placeholders: octets that no URL and no storage changes.
	pathText = regexp.MustCompile(`^[A-Za-z0-9!_.*'()/-]*$`)
)

// ResultRun is what the path of a result can contain.
//
// +kubebuilder:object:generate=false
type ResultRun struct {
	Namespace, Name, UID string
	// Start is when the test started, or when it ended without a start.
	Start time.Time
}

// Folder returns the folder of a run in the bucket.
func (s *ResultStorage) Folder(run ResultRun) string {
	return strings.NewReplacer("${namespace}", run.Namespace, "${name}", run.Name, "${uid}", run.UID,
		"${startTime}", run.Start.UTC().Format(startTimeFormat)).Replace(s.Path)
}

func (s *ResultStorage) validate(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" {
		errs = append(errs, field.Invalid(p.Child("endpoint"), s.Endpoint,
			"must be a URL of scheme https or http without a path, such as https://s3.example.com"))
	}
	if !bucketName.MatchString(s.Bucket) {
		errs = append(errs, field.Invalid(p.Child("bucket"), s.Bucket,
			"must be 3 to 63 lower-case letters, digits, dots and hyphens"))
	}
	errs = append(errs, noShorter(p.Child("timeout"), s.Timeout, time.Second)...)
	errs = append(errs, noShorter(p.Child("deadline"), s.Deadline, time.Second)...)
	return append(errs, s.validatePath(p.Child("path"))...)
}

// joined are a namespace and a name with nothing between them that they cannot have. Test b-c of namespace a and test c
// of namespace a-b have the same one.
var joined = regexp.MustCompile(`\$\{(namespace\}[a-z0-9-]*\$\{name|name\}[a-z0-9-]*\$\{namespace)\}`)

func (s *ResultStorage) validatePath(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := []string{"namespace", "name", "uid", "startTime"}
	has := map[string]bool{}
	for _, m := range placeholder.FindAllStringSubmatch(s.Path, -1) {
		has[m[1]] = true
		if !slices.Contains(known, m[1]) {
			errs = append(errs, field.NotSupported(p, m[0], []string{"${namespace}", "${name}", "${uid}", "${startTime}"}))
		}
	}
	text := placeholder.ReplaceAllString(s.Path, "x")
	if !pathText.MatchString(text) {
		errs = append(errs, field.Invalid(p, s.Path,
			"must have only letters, digits, placeholders and the characters !_.*'()/-"))
	}
	if slices.ContainsFunc(strings.Split(text, "/"),
		func(part string) bool { return part == "" || part == "." || part == ".." }) {
		errs = append(errs, field.Invalid(p, s.Path,
			"must not begin or end with /, and must not have the parts //, . and .."))
	}
	apart := strings.Contains(joined.ReplaceAllString(s.Path, ""), "${name")
	if unique := has["uid"] || has["namespace"] && has["name"] && has["startTime"] && apart; !unique {
		errs = append(errs, field.Invalid(p, s.Path, "must have ${uid}, or ${namespace}, ${name} and ${startTime} with a "+
			"character such as / between ${namespace} and ${name} that they cannot have: two runs need different paths"))
	}
	return errs
}
