// Package slots says when a worker takes its slots: by the schedules of the mix and of chains with stages of their own,
// by the changes that take effect while the test runs, by the lease and by the request limit. It does not know what a
// slot is used for: a Sink takes each.
package slots
