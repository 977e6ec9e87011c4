// Package notification matches the notifications that a listener receives to the steps that wait for them. It has no
// I/O and no clock: the caller gives the time.
//
// A Table belongs to one listener of one worker, and to the goroutine of the worker. A key, such as the path of the
// notification, connects the two sides. states.go has the lifecycle of an entry.
package notification
