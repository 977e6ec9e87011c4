// Keeps these programs out of the project's module: coredns is built in a module that hack/cluster/build.sh makes, the others
// need nothing but the standard library.
module github.com/h2surge/h2surge/hack/cluster/src

go 1.26.0
