// Calls to the server that this page came from, and to no other.

export class Failed extends Error {
  constructor(message, status) { super(message); this.status = status; }
}

let key = sessionStorage.getItem("key") || "";

export function setKey(value) { key = value; sessionStorage.setItem("key", value); }
export function hasKey() { return key !== ""; }

async function ask(path, options = {}) {
  const headers = { ...(options.headers || {}) };
  if (key) headers.Authorization = `Bearer ${key}`;
  const answer = await fetch(path, { ...options, headers }).catch((error) => {
    throw error.name === "AbortError" ? error : new Failed("the server does not answer: is it still running?", 0);
  });
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Failed(told.error || `the server answered ${answer.status}`, answer.status);
}

const call = async (path, options) => (await ask(path, options)).json();
const json = (body, signal) =>
  ({ method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });
const post = (path, body, signal) => call(path, json(body, signal));

export const settings = () => call("frontend/settings");
export const models = () => call("v1/models");
export const translate = (request, signal) => post("v1/translate", request, signal);

// Sentences one by one, as they come: for texts that need more time than a request has.
export async function* stream(request, signal) {
  const answer = await ask("v1/translate", json({ ...request, stream: true }, signal));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Failed("the server broke off", 500);
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines.map(JSON.parse)) {
      if (line.error) throw new Failed(line.error, 500);
      if (line.done) return;
      yield line;
    }
  }
}

export const suggest = (q, s, source, target) => post("suggest", { q, s, source, target });

export function translateFile(file, source, target) {
  const form = new FormData();
  form.append("file", file); form.append("source", source); form.append("target", target);
  return call("translate_file", { method: "POST", body: form });
}
