/**
 * Which redirect URIs a client may register, and whether a request's URI is one of them.
 *
 * An allow-list by what the text IS, not by what a parser makes of it: the WHATWG parser repairs, decodes and maps
 * so much (`127.1`, `https:\\host`, tabs, `%6d`) that its output says little about what another parser will see.
 */

/** `dropped`: harmless but not usable here; left out of a registration that has a usable one beside it. */
export interface RedirectUriVerdict {
  verdict: "allowed" | "dropped" | "refused";
  /** The rule that decided, fit for an `error_description` (printable ASCII, no quotes, none of the input). */
  reason: string;
}

const LOOPBACK = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?(?=[/?]|$)/;
const LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
const DOMAIN = new RegExp(`^(?:${LABEL}\\.)+(?!\\d+$)${LABEL}$`);
/** RFC 8252 section 7.1: a private-use scheme is a reversed domain name. */
const DOTTED_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+$/;
const PLAIN_SCHEME = /^[a-z][a-z0-9+-]*$/;
/**
 * Schemes that are no application's own: a browser runs them, reads files with them or sends to a network; an operating
 * system starts programs, calls, messages, settings or installers by them. docs/oauth.md lists them by what they do.
 */
const DANGEROUS = new Set(
  (
    "javascript vbscript livescript mocha data blob file filesystem about view-source jar mhtml res resource content cid mid " +
    "applescript chrome edge opera brave vivaldi devtools wyciwyg intent intents android-app package market itms itms-apps " +
    "itms-appss itms-services jnlp jnlps steam shell search search-ms hcp help x-man-page mailto tel sms smsto mmsto sip sips " +
    "callto facetime facetime-audio facetime-group webcal webcals feed xmpp irc ircs bitcoin ethereum lightning upi payto " +
    "ws wss ftp ftps sftp tftp scp ssh telnet smb cifs afp nfs dav davs ldap ldaps ldapi imap imaps pop nntp news rdp vnc git " +
    "svn rsync gopher finger rtsp mms magnet ed2k urn tag dns geo acct"
  ).split(" "),
);
/** Families of such schemes. A dot does not make one of them an application's. */
const SYSTEM = /^(?:ms-|microsoft[.-]|windows(?:defender|[.-])|x-apple|com\.apple\.|chrome-|moz-|web\+|ext\+)/;
/** Browser extensions have an https form of their address. */
const EXTENSION = /^(?:[a-z]+-)+extension$/;

const refuseUri = (reason: string): RedirectUriVerdict => ({ verdict: "refused", reason });

export function judgeRedirectUri(uri: string): RedirectUriVerdict {
  if (uri.length === 0 || uri.length > 2048) return refuseUri("must have 1 to 2048 characters");
  if (!/^[\x21-\x7e]*$/.test(uri)) return refuseUri("must be printable ASCII without blanks");
  if (/[\\#<>"{}|^`*]/.test(uri)) return refuseUri("must hold no fragment, backslash, wildcard, quote or bracket");
  if (/%(?:[01][0-9a-f]|7f)/i.test(uri)) return refuseUri("must hold no percent-encoded control character");
  const url = URL.parse(uri);
  if (!url) return refuseUri("must be an absolute URI");
  if (/^[^/?]*:\/*[^/?]*@/.test(uri)) return refuseUri("must hold no user name or password");
  const scheme = uri.slice(0, uri.indexOf(":"));
  if (scheme.toLowerCase() === "http" || scheme.toLowerCase() === "https") return judgeWeb(uri, url);
  return judgeNative(uri, scheme);
}

function judgeWeb(uri: string, url: URL): RedirectUriVerdict {
  const plain = uri.replace(
    url.protocol === "http:" ? /^(http:\/\/[^/?]+):80(?=[/?]|$)/ : /^(https:\/\/[^/?]+):443(?=[/?]|$)/,
    "$1",
  );
  if (plain !== url.href && `${plain}/` !== url.href) return refuseUri("must be written in its canonical form");
  if (url.protocol === "http:") {
    return LOOPBACK.test(uri)
      ? { verdict: "allowed", reason: "loopback" }
      : refuseUri("may use http only for 127.0.0.1, [::1] or localhost");
  }
  if (/^https:\/\/localhost(?::\d{1,5})?(?=[/?]|$)/.test(uri)) return { verdict: "allowed", reason: "loopback" };
  return DOMAIN.test(url.hostname)
    ? { verdict: "allowed", reason: "https with a domain name" }
    : refuseUri("must name a domain: no IP address, single label or trailing dot");
}

function judgeNative(uri: string, scheme: string): RedirectUriVerdict {
  if (!/^[^:]+:\/(?:\/[^/?]|[^/]|$)/.test(uri))
    return refuseUri("must have the form scheme:/path or scheme://host/path");
  if (EXTENSION.test(scheme)) return { verdict: "dropped", reason: "must use the https address of the extension" };
  const isSystem = SYSTEM.test(scheme) || DANGEROUS.has(scheme);
  if (DOTTED_SCHEME.test(scheme) && !isSystem) {
    return { verdict: "allowed", reason: "private-use scheme of a reversed domain name" };
  }
  if (PLAIN_SCHEME.test(scheme) && !isSystem) {
    return { verdict: "allowed", reason: "scheme of an application" };
  }
  return refuseUri("must be https, loopback http, or a scheme of an application such as com.example.app");
}

/**
 * Whether a requested redirect URI is a registered one: byte for byte, except that a loopback URI may have any
 * port (RFC 8252 section 7.3).
 */
export function isRegistered(requested: string, registered: readonly string[]): boolean {
  if (registered.includes(requested)) return true;
  if (!LOOPBACK.test(requested) || judgeRedirectUri(requested).verdict !== "allowed") return false;
  return registered.some((uri) => LOOPBACK.test(uri) && withoutPort(uri) === withoutPort(requested));
}

const withoutPort = (uri: string) => uri.replace(/^(http:\/\/(?:\[::1\]|[^:/?]+)):\d+/, "$1");
