// Package maock turns configurations of maock, the server that comes with h2loadrunner, into files
// of rules for "h2surge target".
package maock
