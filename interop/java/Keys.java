import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.remoting.RPCHook;

/** Signs what a client sends, with the system properties interop.accessKey and interop.secretKey; nothing without them. */
class Keys {
    static RPCHook hook() {
        String key = System.getProperty("interop.accessKey");
        return key == null ? null : new AclClientRPCHook(new SessionCredentials(key, System.getProperty("interop.secretKey")));
    }
}
