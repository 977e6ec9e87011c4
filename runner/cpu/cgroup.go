package cpu

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// cgroups finds this process's control groups. Version 1 has a hierarchy for each controller,
// version 2 one for all; a machine may have both (cgroups(7)).
type cgroups struct {
	root fs.FS // "/" of the machine; paths in it have no leading slash
	// dirs are, for a controller, the directories that bound this process: its own group
	// first, then each one above it up to the mount point. The key unified is version 2.
	dirs map[string][]string

	opened sync.Once
	stats  []io.ReaderAt // set by openStats
}

// unified is the name under which version 2 stands in /proc/PID/cgroup, which names no controllers there.
const unified = ""

// newCgroups reads /proc/self. What cannot be read leaves the result empty: no limits are known then.
func newCgroups(root fs.FS) *cgroups {
	c := &cgroups{root: root, dirs: map[string][]string{}}
	member, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return c
	}
	mountinfo, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return c
	}
	mounts := parseMounts(string(mountinfo))
	for controller, group := range parseMembership(string(member)) {
		c.dirs[controller] = directories(mounts, controller, group)
	}
	return c
}

// directories returns the chain of the first mount that contains the group. A container may have other mounts of
// the same hierarchy: the host's, whose root is above that of the container's namespace ("/../.."). If no mount
// contains the group, the chain is that of the first mount.
func directories(mounts []mount, controller, group string) []string {
	var first []string
	for _, m := range mounts {
		if !slices.Contains(m.controllers, controller) {
			continue
		}
		dirs, inside := m.chain(group)
		if inside {
			return dirs
		}
		if first == nil {
			first = dirs
		}
	}
	return first
}

// read returns the named file's content in each directory that has it, innermost first.
func (c *cgroups) read(dirs []string, file string) []string {
	var contents []string
	for _, dir := range dirs {
		if b, err := fs.ReadFile(c.root, path.Join(dir, file)); err == nil {
			contents = append(contents, string(b))
		}
	}
	return contents
}

// parseMembership reads /proc/PID/cgroup: lines of "id:controllers:path".
func parseMembership(s string) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(s) {
		_, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, ok2 := strings.Cut(rest, ":")
		if !ok || !ok2 {
			continue
		}
		for _, name := range strings.Split(controllers, ",") {
			groups[name] = group
		}
	}
	return groups
}

// mount is a mounted cgroup hierarchy: root is the group that appears at point.
type mount struct {
	root, point string
	controllers []string // unified alone in version 2
}

// parseMounts reads the cgroup lines of /proc/PID/mountinfo (proc_pid_mountinfo(5)).
func parseMounts(s string) []mount {
	var mounts []mount
	for line := range strings.Lines(s) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		m := mount{root: unescape.Replace(left[3]), point: unescape.Replace(left[4])}
		switch right[0] {
		case "cgroup2":
			m.controllers = []string{unified}
		case "cgroup":
			m.controllers = strings.Split(right[2], ",")
		default:
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// unescape undoes what the kernel does to white space in paths.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// chain returns the directories of a group and of those above it up to the mount point, without
// leading slashes. A group that is not inside of what is mounted (a container that sees the path of
// its host, but only its own group mounted) is taken to be the mount point.
func (m mount) chain(group string) (dirs []string, inside bool) {
	top := strings.TrimPrefix(path.Clean(m.point), "/")
	below, inside := relative(m.root, group)
	for ; below != "" && below != "."; below = parent(below) {
		dirs = append(dirs, path.Join(top, below))
	}
	return append(dirs, top), inside
}

func relative(root, group string) (below string, inside bool) {
	group = path.Clean(group)
	if strings.HasPrefix(group, "/..") {
		return "", false
	}
	if root == "/" {
		return strings.TrimPrefix(group, "/"), true
	}
	if group == root {
		return "", true
	}
	if below, inside = strings.CutPrefix(group, root+"/"); !inside {
		return "", false
	}
	return below, true
}

func parent(dir string) string {
	i := strings.LastIndexByte(dir, '/')
	if i < 0 {
		return ""
	}
	return dir[:i]
}
