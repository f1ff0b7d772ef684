// A store on this machine that speaks like S3 and looks at signatures, until it is killed: `node server.mjs PORT FOLDER`.
import S3rver from "s3rver";

const [port, directory] = process.argv.slice(2);
const configureBuckets = [{ name: "aime", configs: [] }];
await new S3rver({ address: "127.0.0.1", port: Number(port), directory, silent: true, vhostBuckets: false, configureBuckets }).run();
