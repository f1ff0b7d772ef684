// A store on this machine that speaks like S3, until it is killed: `node server.mjs PORT FOLDER`.
//
// The store takes every signature of version 4 for right, so it is looked at here, by AWS's description of signed queries:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
import { createHash, createHmac } from "node:crypto";
import { createServer } from "node:http";
import S3rver from "s3rver";

const SECRETS = { S3RVER: "S3RVER" };
const [port, directory] = process.argv.slice(2);

const hmac = (key, text) => createHmac("sha256", key).update(text).digest();
const encoded = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

function isSigned(request) {
  const { pathname, searchParams } = new URL(request.url, "http://store");
  const given = searchParams.get("X-Amz-Signature");
  const [id, ...scope] = (searchParams.get("X-Amz-Credential") ?? "").split("/");
  if (!given || !SECRETS[id]) return false;
  searchParams.delete("X-Amz-Signature");
  const query = [...searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort().join("&");
  const names = searchParams.get("X-Amz-SignedHeaders").split(";");
  const headers = names.map((name) => `${name}:${(request.headers[name] ?? "").trim()}\n`).join("");
  const canonical = [request.method, pathname, query, headers, names.join(";"), "UNSIGNED-PAYLOAD"].join("\n");
  const hashed = createHash("sha256").update(canonical).digest("hex");
  const text = ["AWS4-HMAC-SHA256", searchParams.get("X-Amz-Date"), scope.join("/"), hashed].join("\n");
  const key = scope.reduce((key, part) => hmac(key, part), `AWS4${SECRETS[id]}`);
  return hmac(key, text).toString("hex") === given;
}

const store = new S3rver({ directory, silent: true, vhostBuckets: false, configureBuckets: [{ name: "aime", configs: [] }] });
await store.configureBuckets();
const answer = store.callback();
createServer((request, response) => {
  if (isSigned(request)) return answer(request, response);
  response.writeHead(403, { "content-type": "application/xml" });
  response.end("<Error><Code>SignatureDoesNotMatch</Code><Message>The signature is another.</Message></Error>");
}).listen(Number(port), "127.0.0.1");
