/** Formats of strings that the API server checks; others are documentation only (k8s.io/kube-openapi strfmt). */

const dateTime =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt\s](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const hostname =
  /^(?=.{1,253}$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

/** Checks by the name of the format. */
export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDay(text),
  "date-time": (text) => dateTime.test(text) && isDay(text.slice(0, 10)),
  duration: (text) =>
    /^[+-]?(?:0|(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(text) ||
    /^\d+\s*(?:ns|us|µs|ms|s|m|h|d|w|days?|weeks?|hours?|minutes?|seconds?)$/i.test(text),
  byte: (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  uuid: (text) => uuid.test(text),
  ipv4: isIpv4,
  ipv6: isIpv6,
  cidr: isCidr,
  hostname: (text) => hostname.test(text),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => URL.canParse(text) || (text.startsWith("/") && !/\s/.test(text)),
};

/** Whether the day exists: 2026-02-30 has the right shape and is none. */
function isDay(text: string): boolean {
  const milliseconds = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(text);
}

function isIpv4(text: string): boolean {
  return /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text);
}

/** The URL parser of the platform knows the grammar. */
function isIpv6(text: string): boolean {
  return /^[0-9a-fA-F:.]*$/.test(text) && text.includes(":") && URL.canParse(`http://[${text}]/`);
}

function isCidr(text: string): boolean {
  const [address = "", length = "", ...rest] = text.split("/");
  const bits = isIpv4(address) ? 32 : isIpv6(address) ? 128 : 0;
  return rest.length === 0 && bits > 0 && /^\d{1,3}$/.test(length) && Number(length) <= bits;
}

/** Bounds of integer formats. */
export const integerFormats: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63],
};
