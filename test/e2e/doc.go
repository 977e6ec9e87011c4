// Package e2e runs the user stories on a real cluster, with the operator deployed as users deploy
// it: "make e2e" brings the cluster, the images and the deployment, then runs these tests (build
// tag e2e). Each story works in a namespace of its own under the restricted pod security standard.
package e2e
