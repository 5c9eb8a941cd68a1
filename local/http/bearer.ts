import { createHash, timingSafeEqual } from "node:crypto";

/** Whether an Authorization header holds the token. Digests are compared, so that the time taken says nothing about it. */
export function bearerCheck(token: string): (authorization: string | undefined) => boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(`Bearer ${token}`);
  return (authorization) => timingSafeEqual(digest(authorization ?? ""), expected);
}
