package v1alpha1

// Files returns pointers to the file names in the plan that are not empty. A caller that stores the files in another
// place can change the names.
func (p *Plan) Files() []*string {
	var f files
	for i := range p.Targets {
		f.target(&p.Targets[i])
	}
	for i := range p.Listeners {
		f.listener(&p.Listeners[i])
	}
	for i := range p.Variables {
		v := &p.Variables[i]
		if v.CSV != nil {
			f.content(&v.CSV.Content)
		}
		f.content(v.Constant)
		if s := v.Subscribers; s != nil && s.AKA != nil {
			f.content(&s.AKA.K)
			f.content(s.AKA.OP)
			f.content(s.AKA.OPc)
		}
	}
	for i := range p.Chains {
		for j := range p.Chains[i].Steps {
			f.step(&p.Chains[i].Steps[j])
		}
	}
	return f
}

// files collects names.
type files []*string

func (f *files) add(names ...*string) {
	for _, name := range names {
		if *name != "" {
			*f = append(*f, name)
		}
	}
}

func (f *files) content(c *Content) {
	if c != nil {
		f.add(&c.File)
	}
}

func (f *files) target(t *Target) {
	if t.TLS != nil {
		f.add(&t.TLS.CAFile, &t.TLS.CertFile, &t.TLS.KeyFile)
	}
	for i := range t.Protos {
		f.content(&t.Protos[i])
	}
	if t.ClientAssertion != nil {
		f.add(&t.ClientAssertion.CertFile, &t.ClientAssertion.KeyFile)
	}
	if t.Auth == nil {
		return
	}
	if a := t.Auth.Basic; a != nil {
		f.add(&a.UsernameFile, &a.PasswordFile)
	}
	if a := t.Auth.Bearer; a != nil {
		f.add(&a.TokenFile)
	}
	if a := t.Auth.OAuth2; a != nil {
		f.add(&a.CAFile, &a.CertFile, &a.KeyFile, &a.ClientSecretFile)
	}
}

func (f *files) listener(l *Listener) {
	f.add(&l.RulesFile)
	if l.TLS != nil {
		f.add(&l.TLS.CertFile, &l.TLS.KeyFile, &l.TLS.ClientCAFile)
	}
	if l.Token != nil {
		f.add(&l.Token.KeysFile)
	}
}

func (f *files) step(s *Step) {
	for i := range s.Headers {
		for j := range s.Headers[i].Value {
			f.content(s.Headers[i].Value[j].Content)
		}
	}
	if s.BodyFrom != nil {
		f.content(&s.BodyFrom.Content)
	}
	for i := range s.Parts {
		if from := s.Parts[i].BodyFrom; from != nil {
			f.content(&from.Content)
		}
	}
	if s.Script != nil {
		f.content(&s.Script.Content)
	}
	for i := range s.Expect.Checks {
		f.content(s.Expect.Checks[i].Schema)
	}
}
