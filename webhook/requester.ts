/** Who sends a request, as the API server has authenticated it (authentication.k8s.io/v1 UserInfo). */
export interface Requester {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Reads the `userInfo` of an AdmissionReview; undefined when it says nothing that a permission could be decided on. */
export function readRequester(userInfo: unknown): Requester | undefined {
  const { username, uid, groups, extra } = Object(userInfo) as { [field: string]: unknown };
  if (typeof username !== "string" || username === "") return undefined;
  if (uid !== undefined && typeof uid !== "string") return undefined;
  if (groups !== undefined && !isTexts(groups)) return undefined;
  if (extra !== undefined && (!isRecord(extra) || !Object.values(extra).every(isTexts))) return undefined;
  return {
    username,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    ...(groups === undefined ? {} : { groups }),
    ...(extra === undefined ? {} : { extra: extra as Record<string, readonly string[]> }),
  };
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
