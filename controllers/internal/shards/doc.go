// Package shards has the states of a shard's runner, and the calls to it. It is pure: no clock, no goroutine and no log.
package shards
