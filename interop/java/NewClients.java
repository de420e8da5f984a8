import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.impl.MQClientManager;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.exception.RemotingSendRequestException;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * A new producer with connections of its own every so often: it asks for the route of a topic, then sends a message there.
 * Arguments: name servers, topic, milliseconds between two clients. Prints READY, then for each client ROUTED n,
 * NOT_EXIST n, CUT n reason where the connection ended before the answer, or REFUSED n reason for its first question.
 * For its message it prints SENT n, FAILED n reason, or CUT n reason where a lookup had no answer: a client whose
 * connection ends meanwhile does not ask again, it fails the send.
 */
public class NewClients {
    private static final int GET_ROUTEINFO_BY_TOPIC = 105;
    private static final int TOPIC_NOT_EXIST = 17;

    public static void main(String[] args) throws Exception {
        long everyMillis = Long.parseLong(args[2]);
        System.out.println("READY");
        for (int n = 0; true; n++) {
            long begun = System.currentTimeMillis();
            client(args[0], args[1], n);
            Thread.sleep(Math.max(0, begun + everyMillis - System.currentTimeMillis()));
        }
    }

    private static void client(String nameServers, String topic, int n) {
        Lookups lookups = new Lookups(topic);
        DefaultMQProducer producer = new DefaultMQProducer("new-client-" + n, lookups);
        producer.setInstanceName("new-client-" + n);
        producer.setNamesrvAddr(nameServers);
        producer.setSendMsgTimeout(60_000);
        producer.setMqClientApiTimeout(60_000);
        try {
            producer.start();
            System.out.println(asked(producer, topic, n));
            System.out.println(sent(producer, topic, n));
        } catch (Exception e) {
            String how = lookups.unanswered.get() > 0 ? "CUT " : "FAILED ";
            System.out.println(how + n + " " + e.toString().replace('\n', ' '));
        } finally {
            producer.shutdown();
        }
    }

    private static String asked(DefaultMQProducer producer, String topic, int n) {
        MQClientAPIImpl api = MQClientManager.getInstance().getOrCreateMQClientInstance(producer).getMQClientAPIImpl();
        try {
            api.getTopicRouteInfoFromNameServer(topic, 10_000);
            return "ROUTED " + n;
        } catch (MQClientException e) {
            boolean absent = e.getResponseCode() == TOPIC_NOT_EXIST;
            return absent ? "NOT_EXIST " + n : "REFUSED " + n + " " + e.getResponseCode();
        } catch (RemotingSendRequestException e) {
            return "CUT " + n + " " + e.toString().replace('\n', ' ');
        } catch (Exception e) {
            return "REFUSED " + n + " " + e.toString().replace('\n', ' ');
        }
    }

    private static String sent(DefaultMQProducer producer, String topic, int n) throws Exception {
        SendResult result = producer.send(new Message(topic, ("new-" + n).getBytes()));
        boolean ok = result.getSendStatus() == SendStatus.SEND_OK;
        return ok ? "SENT " + n : "FAILED " + n + " " + result.getSendStatus();
    }

    /** Counts the lookups of one topic that were asked and not answered. */
    private static class Lookups implements RPCHook {
        final AtomicInteger unanswered = new AtomicInteger();
        private final String topic;

        Lookups(String topic) {
            this.topic = topic;
        }

        @Override
        public void doBeforeRequest(String address, RemotingCommand request) {
            if (isLookup(request)) {
                unanswered.incrementAndGet();
            }
        }

        @Override
        public void doAfterResponse(String address, RemotingCommand request, RemotingCommand response) {
            if (response != null && isLookup(request)) {
                unanswered.decrementAndGet();
            }
        }

        private boolean isLookup(RemotingCommand request) {
            if (request.getCode() != GET_ROUTEINFO_BY_TOPIC) {
                return false;
            }
            request.makeCustomHeaderToNet(); // Sending it does so too, but only after this hook.
            return topic.equals(request.getExtFields().get("topic"));
        }
    }
}
