// Package cookie is the cookie store of one virtual client: a user agent as RFC 6265 section 5
// describes it, for one chain instance. A Jar allocates nothing once its buffers have grown.
//
// The differences from RFC 6265:
//
//   - A field with a control character other than HTAB is ignored whole, an attribute whose value is
//     longer than 1024 octets is ignored, and so is a cookie whose name and value have more than 4096
//     octets together: RFC 6265bis (draft-ietf-httpbis-rfc6265bis) 5.6 and 5.7.
//   - A Jar follows the rules of the name prefixes "__Secure-" and "__Host-", in any case: RFC 6265bis 4.1.3, 5.7. It
//     accepts their cookies over a secure connection only.
//   - There is no list of public suffixes. A Domain without a dot counts as one (5.3 step 5): it is
//     refused, unless it is the host itself, whose cookie is then for this host only. The same
//     goes for IP addresses.
//   - Domain is compared as it stands: one with octets above 127 matches no host (no 5.1.2 step 2).
//   - HttpOnly and SameSite have no effect, because there is no script and no other site. A Jar accepts secure cookies
//     from any scheme, and sends them to secure ones only.
//
// A Jar has at most 64 cookies and 16 KiB of names, values, domains and paths. To store a new cookie, it removes
// expired cookies first, then the oldest ones.
package cookie
