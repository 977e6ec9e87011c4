package compile

import (
	"slices"
	"strings"
)

// Nearest returns the name that needs the fewest changes to be equal to another name; "": all need many. Upper and
// lower case are equal, and names of the same letters are one change apart.
func Nearest(name string, names []string) string {
	best, least := "", 1+max(1, len(name)/3)
	for _, n := range names {
		a, b := strings.ToLower(name), strings.ToLower(n)
		d := distance(a, b)
		if sorted(a) == sorted(b) {
			d = min(d, 1)
		}
		if d < least && (d < len(n) || d == 0) {
			best, least = n, d
		}
	}
	return best
}

func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

// didYouMean is the end of a message about a name that does not exist.
func didYouMean(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// distance is the number of characters to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
