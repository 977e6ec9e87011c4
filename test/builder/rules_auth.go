package builder

// The targets of full.yaml that say who asks: 0 to 3 and 4 do by OAuth 2.0, 5 and 6 by a password, 7 and 8 by a
// token. The first of each pair has a Secret, the second files.

func rulesOfAuth() []Mutant {
	key := map[string]any{"name": "more", "key": "k"}
	source := "" // minProperties and maxProperties, for which the API server has its own message
	out := []Mutant{
		tooLong("spec.targets[0].auth.oauth2.refreshBefore", "61m", upToAnHour),
		tooLong("spec.targets[0].clientAssertion.lifetime", "9s", "must be at least 10s and at most 24h"),
		tooLong("spec.targets[0].clientAssertion.lifetime", "25h", "must be at least 10s and at most 24h"),
		{Name: "a secret without a client", Path: "spec.targets[0].auth.oauth2.clientSecretFrom", Want: "needs clientID",
			Unset: []string{"spec.targets[0].auth.oauth2.clientID"}},
		{Name: "credentials that do not exist", Path: "spec.targets[0].followAuthority", Want: "WithCredentials needs auth or clientAssertion",
			Unset: []string{"spec.targets[0].auth", "spec.targets[0].clientAssertion"}},
	}
	for _, c := range []choice{
		{"spec.targets[0].auth", "oauth2", "bearer", map[string]any{"tokenFrom": map[string]any{"file": "/token"}}, source},
		{"spec.targets[5].auth.basic", "secretRef", "files", map[string]any{"username": "/u", "password": "/p"}, source},
		{"spec.targets[7].auth.bearer.tokenFrom", "secretKeyRef", "file", "/token", source},
		{"spec.targets[0].auth.oauth2.clientSecretFrom", "file", "secretKeyRef", key, source},
		{"spec.targets[3].auth.oauth2.certificate", "files", "secretRef", map[string]any{"name": "more"}, source},
		{"spec.targets[0].clientAssertion.certificate", "files", "secretRef", map[string]any{"name": "more"}, source},
		{"spec.targets[2].auth.oauth2.caFrom", "configMapKeyRef", "file", "/ca.pem", source},
	} {
		out = append(out, c.rows()...)
	}
	return out
}
