// Calls to the server that this page came from, and to no other.

export class Failed extends Error {
  constructor(message, status) { super(message); this.status = status; }
}

let key = sessionStorage.getItem("key") || "";

export function setKey(value) { key = value; sessionStorage.setItem("key", value); }
export function hasKey() { return key !== ""; }

async function call(path, options = {}) {
  const headers = { ...(options.headers || {}) };
  if (key) headers.Authorization = `Bearer ${key}`;
  const answer = await fetch(path, { ...options, headers });
  const content = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Failed(content.error || `the server answered ${answer.status}`, answer.status);
  return content;
}

const post = (path, body, signal) =>
  call(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });

export const settings = () => call("frontend/settings");
export const models = () => call("v1/models");
export const translate = (request, signal) => post("v1/translate", request, signal);
export const suggest = (q, s, source, target) => post("suggest", { q, s, source, target });

export function translateFile(file, source, target) {
  const form = new FormData();
  form.append("file", file); form.append("source", source); form.append("target", target);
  return call("translate_file", { method: "POST", body: form });
}
