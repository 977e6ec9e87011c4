package v1alpha1

import (
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate checks a configuration whose defaults have been set. It returns everything that is
// wrong at once.
func (c *OperatorConfig) Validate() field.ErrorList {
	var errs field.ErrorList
	for i, ns := range c.Namespaces {
		errs = append(errs, namespace(field.NewPath("namespaces").Index(i), ns)...)
	}
	errs = append(errs, namespace(field.NewPath("operatorNamespace"), c.OperatorNamespace)...)
	errs = append(errs, atLeast(field.NewPath("maxConcurrentReconciles"), c.MaxConcurrentReconciles, 1)...)
	errs = append(errs, address(field.NewPath("metrics", "bindAddress"), c.Metrics.BindAddress)...)
	errs = append(errs, noShorter(field.NewPath("metrics", "keepFinished"), c.Metrics.KeepFinished, time.Second)...)
	errs = append(errs, atLeast(field.NewPath("metrics", "maxFinished"), c.Metrics.MaxFinished, 1)...)
	errs = append(errs, address(field.NewPath("health", "bindAddress"), c.Health.BindAddress)...)
	errs = append(errs, oneOf(field.NewPath("logging", "level"), c.Logging.Level, "debug", "info", "error")...)
	errs = append(errs, oneOf(field.NewPath("logging", "format"), c.Logging.Format, "json", "text")...)
	errs = append(errs, c.Runner.validate(field.NewPath("runner"))...)
	errs = append(errs, atLeast(field.NewPath("checkpoint", "bytesPerSecond"), c.Checkpoint.BytesPerSecond, 1<<10)...)
	errs = append(errs, c.Limits.validate(field.NewPath("limits"))...)
	errs = append(errs, c.Targets.validate(field.NewPath("targets"))...)
	if c.ResultStorage != nil {
		errs = append(errs, c.ResultStorage.validate(field.NewPath("resultStorage"))...)
	}
	return append(errs, c.Report.validate(field.NewPath("report"))...)
}

func (l *Limits) validate(p *field.Path) field.ErrorList {
	errs := atLeast(p.Child("requestsPerSecond"), int(l.RequestsPerSecond), 0)
	errs = append(errs, atLeast(p.Child("shards"), int(l.Shards), 0)...)
	errs = append(errs, atLeast(p.Child("connections"), l.Connections, 0)...)
	return append(errs, noShorter(p.Child("duration"), l.Duration, 0)...)
}

func (t *TargetPolicy) validate(p *field.Path) field.ErrorList {
	names := map[string]bool{}
	errs := rules(p.Child("allowed"), t.Allowed, names)
	errs = append(errs, rules(p.Child("denied"), t.Denied, names)...)
	for i, name := range t.DeniedByDefault {
		errs = append(errs, oneOf(p.Child("deniedByDefault").Index(i), name, DeniedAPIServer, DeniedMetadata, DeniedNodes)...)
	}
	return errs
}

// rules checks a list of rules. Their names are unique, because conditions show them. They have no capital letters, so
// no rule has the name of a built-in one.
func rules(p *field.Path, all []AddressRule, names map[string]bool) field.ErrorList {
	var errs field.ErrorList
	for i := range all {
		r, at := &all[i], p.Index(i)
		for _, msg := range validation.IsDNS1123Label(r.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), r.Name, msg))
		}
		if names[r.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), r.Name))
		}
		names[r.Name] = true
		if len(r.Hosts)+len(r.CIDRs) == 0 {
			errs = append(errs, field.Required(at, "needs hosts or cidrs"))
		}
		for k, h := range r.Hosts {
			if !hostPattern.MatchString(h) {
				errs = append(errs, field.Invalid(at.Child("hosts").Index(k), h,
					"must be a host name without port, such as *.example.com"))
			}
		}
		for k, c := range r.CIDRs {
			if _, err := netip.ParsePrefix(c); err != nil {
				errs = append(errs, field.Invalid(at.Child("cidrs").Index(k), c, "must be an IP range such as 10.0.0.0/8"))
			}
		}
	}
	return errs
}

var (
	hostPattern = regexp.MustCompile(`^[A-Za-z0-9*._:-]+$`)
	podField    = regexp.MustCompile(`^(metadata|spec)(\.[A-Za-z]+)*$`)
)

func (r *Runner) validate(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Image == "" {
		errs = append(errs, field.Required(p.Child("image"), "set it here or in the environment variable H2SURGE_IMAGE"))
	}
	errs = append(errs, oneOf(p.Child("imagePullPolicy"), string(r.ImagePullPolicy),
		string(corev1.PullAlways), string(corev1.PullIfNotPresent), string(corev1.PullNever))...)
	if q, err := resource.ParseQuantity(r.MemoryPerCPU); err != nil || q.Sign() <= 0 {
		errs = append(errs, field.Invalid(p.Child("memoryPerCPU"), r.MemoryPerCPU,
			"must be a positive quantity such as 512Mi"))
	}
	errs = append(errs, keys(p.Child("inheritLabels"), r.InheritLabels)...)
	errs = append(errs, keys(p.Child("inheritAnnotations"), r.InheritAnnotations)...)
	for i, f := range r.DeniedPodFields {
		if !podField.MatchString(f) {
			errs = append(errs, field.Invalid(p.Child("deniedPodFields").Index(i), f,
				"must be a path in a pod template such as spec.hostNetwork"))
		}
	}
	errs = append(errs, atLeast(p.Child("startAttempts"), r.StartAttempts, 1)...)
	for _, d := range []struct {
		name string
		d    metav1.Duration
		min  time.Duration
	}{
		{"podTimeout", r.PodTimeout, time.Second},
		{"readyTimeout", r.ReadyTimeout, time.Second},
		{"snapshotInterval", r.SnapshotInterval, 100 * time.Millisecond},
		{"controlTimeout", r.ControlTimeout, 100 * time.Millisecond},
		{"unreachableTimeout", r.UnreachableTimeout, time.Second},
		{"startLead", r.StartLead, time.Millisecond},
		{"ttlAfterFinished", *r.TTLAfterFinished, 0},
	} {
		errs = append(errs, noShorter(p.Child(d.name), d.d, d.min)...)
	}
	return errs
}

func (r *Report) validate(p *field.Path) field.ErrorList {
	errs := atLeast(p.Child("maxBytes"), r.MaxBytes, 4096)
	// etcd takes 1.5 MiB a request and the API server 1 MiB of data in a ConfigMap; the rest
	// is for keys and the record of the ending.
	if r.MaxBytes > 1_000_000 {
		errs = append(errs, field.Invalid(p.Child("maxBytes"), r.MaxBytes, "must be at most 1000000"))
	}
	return append(errs, noShorter(p.Child("podGrace"), r.PodGrace, time.Second)...)
}

// keys checks names of labels or annotations; a name that ends in "/" is a prefix.
func keys(p *field.Path, names []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range names {
		checked := name
		if strings.HasSuffix(name, "/") {
			checked = name + "any"
		}
		for _, msg := range validation.IsQualifiedName(checked) {
			errs = append(errs, field.Invalid(p.Index(i), name, msg))
		}
	}
	return errs
}

func namespace(p *field.Path, ns string) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsDNS1123Label(ns) {
		errs = append(errs, field.Invalid(p, ns, msg))
	}
	return errs
}

func address(p *field.Path, a string) field.ErrorList {
	if a == "0" {
		return nil
	}
	if _, _, err := net.SplitHostPort(a); err != nil {
		return field.ErrorList{field.Invalid(p, a, `must be host:port, :port or "0"`)}
	}
	return nil
}

func oneOf(p *field.Path, v string, allowed ...string) field.ErrorList {
	if slices.Contains(allowed, v) {
		return nil
	}
	return field.ErrorList{field.NotSupported(p, v, allowed)}
}

func atLeast(p *field.Path, v, minimum int) field.ErrorList {
	if v >= minimum {
		return nil
	}
	return field.ErrorList{field.Invalid(p, v, "must be at least "+strconv.Itoa(minimum))}
}

func noShorter(p *field.Path, v metav1.Duration, minimum time.Duration) field.ErrorList {
	if v.Duration >= minimum {
		return nil
	}
	return field.ErrorList{field.Invalid(p, v.Duration.String(), "must be at least "+minimum.String())}
}
