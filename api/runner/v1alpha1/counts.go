package v1alpha1

import "unicode"

// Count is a counter and its name in JSON.
type Count struct {
	Name string
	N    *int64
}

// Words returns the words of the name with a separator between them: "timed_out" for timedOut and "_".
func (c Count) Words(separator string) string {
	out := ""
	for _, r := range c.Name {
		if unicode.IsUpper(r) {
			out += separator
		}
		out += string(unicode.ToLower(r))
	}
	return out
}

// Outcomes count requests. Each sent request is in exactly one of the terms of these equations:
//
//	Sent = Done + TimedOut + Reset + ConnectionLost + InFlightAtEnd
//	Done = Succeeded + FailedChecks
//
// While the test runs, InFlightAtEnd counts the requests in flight.
type Outcomes struct {
	Sent           int64 `json:"sent"`
	Done           int64 `json:"done"`
	Succeeded      int64 `json:"succeeded"`
	FailedChecks   int64 `json:"failedChecks"`
	TimedOut       int64 `json:"timedOut"`
	Reset          int64 `json:"reset"`
	ConnectionLost int64 `json:"connectionLost"`
	InFlightAtEnd  int64 `json:"inFlightAtEnd"`
}

// Counts returns all counts, in the order of the fields.
func (o *Outcomes) Counts() [8]Count {
	return [...]Count{
		{"sent", &o.Sent}, {"done", &o.Done}, {"succeeded", &o.Succeeded}, {"failedChecks", &o.FailedChecks},
		{"timedOut", &o.TimedOut},
		{"reset", &o.Reset}, {"connectionLost", &o.ConnectionLost}, {"inFlightAtEnd", &o.InFlightAtEnd},
	}
}

// Ends returns the counts that add up to Sent: one for each way in which a request can end, success first, and
// InFlightAtEnd.
func (o *Outcomes) Ends() []Count {
	counts := o.Counts()
	return counts[2:]
}

// Failures returns the counts of the ways in which a request can fail.
func (o *Outcomes) Failures() []Count {
	ends := o.Ends()
	return ends[1 : len(ends)-1]
}

// Add adds the counts of another runner or step if sign is 1. If sign is -1, it subtracts those of an earlier snapshot.
func (o *Outcomes) Add(from *Outcomes, sign int64) {
	counts := from.Counts()
	for i, to := range o.Counts() {
		*to.N += sign * *counts[i].N
	}
}

// Requests count the requests of the measured stages.
type Requests struct {
	Outcomes
	// Dropped slots were never sent, because no stream became free in time.
	Dropped int64 `json:"dropped"`
	// Retried requests were given back unprocessed by the peer (GOAWAY, REFUSED_STREAM) and
	// sent again; they count once in Sent.
	Retried int64 `json:"retried"`
	// Abandoned counts timed-out streams that were not reset, to stay below what servers tolerate. TimedOut includes
	// them.
	Abandoned int64 `json:"abandoned"`
}

// Errors returns the counts that add up to the errors of the error rate: failures and Dropped.
func (r *Requests) Errors() []Count { return append(r.Failures(), Count{"dropped", &r.Dropped}) }

// StepEvents count requests and responses of a step that are of interest apart from their outcome.
type StepEvents struct {
	// Retries are those of Sent that followed a failure of the same step (OnFailure.Retries).
	Retries int64 `json:"retries,omitempty"`
	// Redirects are those of Sent that followed a redirect (Step.MaxRedirects).
	Redirects int64 `json:"redirects,omitempty"`
	// OverloadControl and LoadControl are the responses with 3gpp-Sbi-Oci and 3gpp-Sbi-Lci (Target.CountLoadControl).
	OverloadControl int64 `json:"overloadControl,omitempty"`
	LoadControl     int64 `json:"loadControl,omitempty"`
	// ResponsesTruncated are the responses whose body was cut, because it was larger than what a runner keeps for
	// checks, captures and scripts.
	ResponsesTruncated int64 `json:"responsesTruncated,omitempty"`
}

// Counts returns all counts, in the order of the fields. internal/report/build says how each is shown.
func (e *StepEvents) Counts() [5]Count {
	return [...]Count{
		{"retries", &e.Retries}, {"redirects", &e.Redirects}, {"overloadControl", &e.OverloadControl},
		{"loadControl", &e.LoadControl},
		{"responsesTruncated", &e.ResponsesTruncated},
	}
}

// Add adds the counts of another runner if sign is 1. If sign is -1, it subtracts those of an earlier snapshot.
func (e *StepEvents) Add(from *StepEvents, sign int64) {
	counts := from.Counts()
	for i, to := range e.Counts() {
		*to.N += sign * *counts[i].N
	}
}

// Counters count requests of the measured stages, and what the runner did apart from them.
type Counters struct {
	Requests
	// WarmUpSent counts requests of warm-up stages, which are in no other counter;
	// WarmUpInFlight those of them that have no outcome yet.
	WarmUpSent     int64 `json:"warmUpSent"`
	WarmUpInFlight int64 `json:"warmUpInFlight"`
	// WarmUpSucceeded counts those that succeeded.
	WarmUpSucceeded int64 `json:"warmUpSucceeded"`

	// Graceful counts what was sent after the load.
	Graceful GracefulCounters `json:"graceful,omitzero"`
	// Setup and Teardown count requests of setup and teardown chains, which are in no other counter.
	Setup    OnceCounters `json:"setup,omitzero"`
	Teardown OnceCounters `json:"teardown,omitzero"`

	BytesSent     int64 `json:"bytesSent"`
	BytesReceived int64 `json:"bytesReceived"`
	// Connects counts connections opened, Reconnects those opened to replace a lost one.
	Connects   int64 `json:"connects"`
	Reconnects int64 `json:"reconnects"`
	// Resumed counts connections whose handshake resumed a session of TLS, and EarlyData those of them whose early data
	// the server accepted.
	Resumed   int64 `json:"resumed,omitempty"`
	EarlyData int64 `json:"earlyData,omitempty"`
}

// Add adds the counts of another runner if sign is 1. If sign is -1, it subtracts those of an earlier snapshot.
func (c *Counters) Add(from *Counters, sign int64) {
	c.Outcomes.Add(&from.Outcomes, sign)
	c.Dropped += sign * from.Dropped
	c.Retried += sign * from.Retried
	c.Abandoned += sign * from.Abandoned
	c.WarmUpSent += sign * from.WarmUpSent
	c.WarmUpInFlight += sign * from.WarmUpInFlight
	c.WarmUpSucceeded += sign * from.WarmUpSucceeded
	c.Graceful.Sent += sign * from.Graceful.Sent
	c.Graceful.Succeeded += sign * from.Graceful.Succeeded
	c.Graceful.Completed += sign * from.Graceful.Completed
	c.Graceful.Aborted += sign * from.Graceful.Aborted
	c.Graceful.CutOff += sign * from.Graceful.CutOff
	c.Graceful.AlwaysCounts.Add(from.Graceful.AlwaysCounts, sign)
	c.Setup.Sent += sign * from.Setup.Sent
	c.Setup.Succeeded += sign * from.Setup.Succeeded
	c.Teardown.Sent += sign * from.Teardown.Sent
	c.Teardown.Succeeded += sign * from.Teardown.Succeeded
	c.BytesSent += sign * from.BytesSent
	c.BytesReceived += sign * from.BytesReceived
	c.Connects += sign * from.Connects
	c.Reconnects += sign * from.Reconnects
	c.Resumed += sign * from.Resumed
	c.EarlyData += sign * from.EarlyData
}

// GracefulCounters count what chain instances sent after the load, within Plan.GracefulStop. These requests are in no
// other counter, and ChainCounters count these instances as unfinished.
type GracefulCounters struct {
	OnceCounters
	// Completed and Aborted are the instances that have ended. CutOff are those that had not ended when the time was
	// over.
	Completed int64 `json:"completed"`
	Aborted   int64 `json:"aborted"`
	CutOff    int64 `json:"cutOff"`
	AlwaysCounts
}

// AlwaysCounts count always steps.
type AlwaysCounts struct {
	// AlwaysSent steps were sent, or began to wait for a notification, in an instance that had been aborted.
	AlwaysSent int64 `json:"alwaysSent,omitempty"`
	// AlwaysSkipped steps were not sent, because a captured value was missing.
	AlwaysSkipped int64 `json:"alwaysSkipped,omitempty"`
}

// Count counts a step.
func (c *AlwaysCounts) Count(sent bool) {
	if sent {
		c.AlwaysSent++
	} else {
		c.AlwaysSkipped++
	}
}

// Add adds the counts of another runner if sign is 1. If sign is -1, it subtracts those of an earlier snapshot.
func (c *AlwaysCounts) Add(from AlwaysCounts, sign int64) {
	c.AlwaysSent += sign * from.AlwaysSent
	c.AlwaysSkipped += sign * from.AlwaysSkipped
}

// OnceCounters count the requests of chains that run once: those that were sent, and of them those that succeeded.
type OnceCounters struct {
	Sent      int64 `json:"sent"`
	Succeeded int64 `json:"succeeded"`
}

// ChainCounters count chain instances that began in measured stages.
// Started = Completed + Aborted + Unfinished.
type ChainCounters struct {
	Started   int64 `json:"started"`
	Completed int64 `json:"completed"`
	Aborted   int64 `json:"aborted"`
	// Unfinished instances were under way when the run ended (or are, while it runs).
	Unfinished int64 `json:"unfinished"`
	// AbortedBy counts Aborted by reason (AbortX constants).
	AbortedBy map[string]int64 `json:"abortedBy,omitempty"`
	AlwaysCounts
}

// ListenerCounts count all notifications of a listener, and all steps that awaited one. Those of a running test satisfy
// these equations, and those of an ended test with Early = 0 and Waiting = 0:
//
//	Received = InTime + Late + Duplicate + Unexpected + Answered + Early + RefusedToken + RefusedCertificate
//	Awaited = InTime + Missing + WaitingAtEnd + Waiting
type ListenerCounts struct {
	Received int64 `json:"received"`
	// InTime notifications reached the step that awaited them. FailedChecks of them failed a check of the step.
	InTime       int64 `json:"inTime"`
	FailedChecks int64 `json:"failedChecks"`
	// Late notifications came after the timeout of their step. Duplicate ones had the key of one that came before.
	Late      int64 `json:"late"`
	Duplicate int64 `json:"duplicate"`
	// Unexpected are notifications that no step awaited within Listener.Retention.
	Unexpected int64 `json:"unexpected"`
	// Answered are like Unexpected, but a rule of the listener answered them.
	Answered int64 `json:"answered,omitempty"`
	// Early are notifications that no step awaits yet.
	Early int64 `json:"early,omitempty"`
	// Awaited counts steps that began to wait. Missing are those of them without a notification within their timeout.
	Awaited int64 `json:"awaited"`
	Missing int64 `json:"missing"`
	// Waiting steps wait now. WaitingAtEnd are those that waited when the run ended.
	Waiting      int64 `json:"waiting,omitempty"`
	WaitingAtEnd int64 `json:"waitingAtEnd,omitempty"`
	// Measured are the steps of chain instances that began in a measured stage.
	Measured AwaitCounts `json:"measured,omitzero"`
	// RefusedToken notifications had no valid access token, RefusedCertificate ones came from a peer whose client
	// certificate has none of the required names. They were answered with 401 or 403, and reached no step.
	RefusedToken       int64 `json:"refusedToken,omitempty"`
	RefusedCertificate int64 `json:"refusedCertificate,omitempty"`
	// FailedHandshakes are connections of peers whose TLS handshake failed. They brought no notification.
	FailedHandshakes int64 `json:"failedHandshakes,omitempty"`
	// FailedBy counts failed checks by the name of the first check that failed. FailedBy and the times are of chain
	// instances that began in a measured stage, the counts above of all.
	FailedBy map[string]int64 `json:"failedBy,omitempty"`
	// ByRule counts notifications by the name of the rule that matched them.
	ByRule map[string]int64 `json:"byRule,omitempty"`
}

// AwaitCounts count steps that began to wait for a notification. InTime of them received it, FailedChecks of these
// did not pass their checks, and Missing did not receive it within their timeout. The others wait, or waited when the
// run ended.
type AwaitCounts struct {
	Awaited      int64 `json:"awaited"`
	InTime       int64 `json:"inTime"`
	FailedChecks int64 `json:"failedChecks"`
	Missing      int64 `json:"missing"`
}

// Add adds the counts of another runner if sign is 1. If sign is -1, it subtracts those of an earlier snapshot.
func (c *AwaitCounts) Add(from *AwaitCounts, sign int64) {
	c.Awaited += sign * from.Awaited
	c.InTime += sign * from.InTime
	c.FailedChecks += sign * from.FailedChecks
	c.Missing += sign * from.Missing
}

// Waiting returns the number of steps that wait, or waited when the run ended.
func (c *AwaitCounts) Waiting() int64 { return c.Awaited - c.InTime - c.Missing }

// Add adds the counts of another runner if sign is 1. If sign is -1, it subtracts those of an earlier snapshot. It
// leaves out FailedBy and ByRule.
func (c *ListenerCounts) Add(from *ListenerCounts, sign int64) {
	c.Measured.Add(&from.Measured, sign)
	c.Received += sign * from.Received
	c.InTime += sign * from.InTime
	c.FailedChecks += sign * from.FailedChecks
	c.Late += sign * from.Late
	c.Duplicate += sign * from.Duplicate
	c.Unexpected += sign * from.Unexpected
	c.Answered += sign * from.Answered
	c.Early += sign * from.Early
	c.Awaited += sign * from.Awaited
	c.Missing += sign * from.Missing
	c.Waiting += sign * from.Waiting
	c.WaitingAtEnd += sign * from.WaitingAtEnd
	c.RefusedToken += sign * from.RefusedToken
	c.RefusedCertificate += sign * from.RefusedCertificate
	c.FailedHandshakes += sign * from.FailedHandshakes
}
