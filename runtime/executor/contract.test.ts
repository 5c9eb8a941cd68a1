import { startTestExecutor } from "#runtime/executor/test-executor.ts";
import { describeExecutorContract } from "#runtime/executor-contract.ts";
import { GrpcExecutorClient } from "#runtime/grpc-executor-client.ts";
import { shellSubject } from "#runtime/proto/conformance.ts";

describeExecutorContract("the process executor over gRPC", async (directory) => {
  const socketPath = `${directory}/executor.sock`;
  let executor = await startTestExecutor(socketPath);
  const client = new GrpcExecutorClient(socketPath);
  return {
    ...shellSubject(client, directory),
    async crash() {
      await executor.end("SIGKILL");
    },
    async boot() {
      executor = await startTestExecutor(socketPath);
    },
    async close() {
      client.close();
      await executor.end("SIGTERM");
    },
  };
});
