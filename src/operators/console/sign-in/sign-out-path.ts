/** Cloudflare's own path on the console's host, which signs out of Access. */
export const ACCESS_SIGN_OUT = "/cdn-cgi/access/logout";
