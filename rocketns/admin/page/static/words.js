// Numbers and times for people.

export const count = (number) => number.toLocaleString("en");

export function age(ms) {
  if (ms === null || ms === undefined) return "never";
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 100) return `${s} s`;
  if (s < 6000) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}

export const clock = (at) => new Date(at).toLocaleTimeString("en-GB");

export const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
