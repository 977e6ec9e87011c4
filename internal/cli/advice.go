package cli

import (
	"strings"

	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// adviceFlags says in flags what the advice of a runner says in fields of a manifest.
var adviceFlags = strings.NewReplacer(
	string(failure.AdviceHTTP2), "leave --h1 out if the server speaks HTTP/2 only",
	string(failure.AdviceALPN), "leave --alpn out to take what the server chooses",
	string(failure.AdviceServerName), "give a name the certificate has with --sni",
	string(failure.AdviceCA), "give the CA's certificate with --cacert",
	string(failure.AdviceExpired), "renew the certificate, or use --insecure",
	verdict.AdviceShards, "try -t ",
	build.AdviceConnections, "set -c to ",
	build.AdviceStreams, ", or -m to ",
)

// advise puts flags in the place of fields when the plan was made of flags.
func (j *job) advise(message string) string {
	if j.manifest == nil {
		return adviceFlags.Replace(message)
	}
	return message
}
