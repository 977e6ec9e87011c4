// Package site checks the pages that "make site" has built.
package site
