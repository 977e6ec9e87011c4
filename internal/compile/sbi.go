package compile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Names of header fields of 3GPP TS 29.500 5.2.3, in lower case as HTTP/2 sends them.
const (
	sbiMessagePriority = "3gpp-sbi-message-priority"
	sbiMaxRspTime      = "3gpp-sbi-max-rsp-time"
	sbiSenderTimestamp = "3gpp-sbi-sender-timestamp"
	sbiCorrelationInfo = "3gpp-sbi-correlation-info"
	sbiTargetAPIRoot   = "3gpp-sbi-target-apiroot"
	sbiCallback        = "3gpp-sbi-callback"
	sbiDiscovery       = "3gpp-sbi-discovery-"
	sbiBinding         = "3gpp-sbi-binding"
	sbiRoutingBinding  = "3gpp-sbi-routing-binding"
)

// maxRspTime is the largest value of 3gpp-Sbi-Max-Rsp-Time, which has up to 5 digits (TS 29.500 5.2.3.3.3).
const maxRspTime = 99999

// profile has the header fields that a target adds to requests.
type profile struct {
	*v1alpha1.SBI
	// texts are the fields whose values are texts of the spec.
	texts []headerText
}

// profiles parses the sbi of all targets. Texts can read captures, so the requests must be known.
func (c *compiler) profiles() {
	path := specPath.Child("targets")
	for i := range c.spec.Targets {
		t := &c.spec.Targets[i]
		p := profile{SBI: t.SBI}
		c.plan.Targets[i].CountLoadControl = t.SBI != nil
		if t.SBI != nil {
			at := path.Index(i).Child("sbi")
			add := func(name, field, value string) {
				if value != "" {
					at := at.Child(field)
					p.texts = append(p.texts, headerText{path: at, written: name, value: c.headerValue(at, value)})
				}
			}
			add(sbiCorrelationInfo, "correlationInfo", t.SBI.CorrelationInfo)
			add(sbiTargetAPIRoot, "targetAPIRoot", t.SBI.TargetAPIRoot)
			if root := t.SBI.TargetAPIRoot; root != "" && root[0] != '$' {
				if _, absolute := cutScheme(root); !absolute {
					c.fail(at.Child("targetAPIRoot"), "must begin with http:// or https://")
				}
			}
			add(sbiCallback, "callback", t.SBI.Callback)
			for k, d := range t.SBI.Discovery {
				if strings.HasPrefix(strings.ToLower(d.Name), sbiDiscovery) {
					c.fail(at.Child("discovery").Index(k).Child("name"), "must be without 3gpp-Sbi-Discovery-, such as target-nf-type")
				}
				at := at.Child("discovery").Index(k).Child("value")
				p.texts = append(p.texts, headerText{path: at, written: sbiDiscovery + d.Name, value: c.headerValue(at, d.Value)})
			}
		}
		c.sbi = append(c.sbi, p)
	}
}

// addSBI adds the header fields of the target's sbi to a step, except those that the request has itself.
func (c *compiler) addSBI(s *scope, r *request, out *rv.Step) {
	if out.Target >= len(c.sbi) || c.sbi[out.Target].SBI == nil {
		return
	}
	p := &c.sbi[out.Target]
	add := func(name string, value rv.Text) {
		if !slices.ContainsFunc(r.headers, func(h headerText) bool { return h.written == name }) {
			out.Headers = append(out.Headers, rv.Header{Name: literal(name), Value: value, OmitEmpty: true})
		}
	}
	if p.MessagePriority != nil {
		add(sbiMessagePriority, literal(strconv.Itoa(int(*p.MessagePriority))))
	}
	if p.MaxRspTime != v1alpha1.HeaderOmit {
		ms := min(max(1, int64(r.timeout/time.Millisecond)), maxRspTime)
		add(sbiMaxRspTime, literal(strconv.FormatInt(ms, 10)))
	}
	if p.SenderTimestamp != v1alpha1.HeaderOmit {
		add(sbiSenderTimestamp, rv.Text{{Variable: 1 + c.senderClock()}})
	}
	for i := range p.texts {
		c.place(s.place.In("headers", len(out.Headers)), p.texts[i].path)
		add(p.texts[i].written, c.resolve(s, p.texts[i].value))
	}
	if slot, follows := s.bindings[out.Target]; follows {
		add(sbiRoutingBinding, rv.Text{{Capture: 1 + slot, Functions: []rv.Function{{Name: rv.FunctionRoutingBinding}}}})
		out.Capture = append(out.Capture, rv.Capture{
			Slot: slot, Source: rv.Source{Kind: rv.SourceHeader, Name: sbiBinding, Joined: true}, Keep: true,
		})
	}
}

// forwarded sets the field that a redirect changes if the step sends to an SCP or SEPP: it then gets the redirected
// request, too, with the apiRoot of the new server in this field and the base path of the SCP or SEPP (TS 29.500
// 6.10.2).
func forwarded(out *rv.Step) {
	if out.MaxRedirects > 0 && slices.ContainsFunc(out.Headers, toProxy) {
		out.RedirectField = sbiTargetAPIRoot
	}
}

// toProxy returns whether only an SCP or SEPP understands the field.
func toProxy(h rv.Header) bool {
	if len(h.Name) != 1 {
		return false
	}
	name := strings.ToLower(h.Name[0].Literal)
	return name == sbiTargetAPIRoot || strings.HasPrefix(name, sbiDiscovery)
}

func literal(s string) rv.Text { return rv.Text{{Literal: s}} }

// senderClock returns the index of the variable with the time of a request, and adds it to the plan once. It is named
// as its field. No variable of a spec can have this name.
func (c *compiler) senderClock() int {
	i, known := c.variableIndex[sbiSenderTimestamp]
	if !known {
		i = len(c.plan.Variables)
		c.variableIndex[sbiSenderTimestamp] = i
		c.plan.Variables = append(c.plan.Variables, rv.Variable{
			Name: sbiSenderTimestamp, Scope: rv.ScopeStep, Timestamp: &rv.Timestamp{Format: rv.TimeIMFFixdateMilli},
		})
	}
	return i
}

// bindings gives each target whose binding the chain follows a slot for it.
func (c *compiler) bindings(s *scope, flat []flatStep, out *rv.Chain) {
	s.bindings = map[int]int{}
	for i := range flat {
		t := flat[i].targetIndex
		if flat[i].await != nil || t < 0 || t >= len(c.sbi) || c.sbi[t].SBI == nil ||
			c.sbi[t].Binding == v1alpha1.BindingIgnore {
			continue
		}
		if _, has := s.bindings[t]; !has {
			s.bindings[t] = len(out.Captures)
			out.Captures = append(out.Captures, sbiBinding+" "+c.spec.Targets[t].Name)
		}
	}
}
