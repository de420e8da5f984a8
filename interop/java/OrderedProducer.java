import java.nio.charset.StandardCharsets;

import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends the numbers 0, 1, 2 … in order, number n to queue n modulo the number of queues that it is told of.
 * Arguments: name servers, topic, how many, (not used). Prints QUEUES how-many, READY, SENT n for each, then DONE.
 */
public class OrderedProducer {
    public static void main(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("interop-ordered-producer");
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(60_000);
        producer.setMqClientApiTimeout(60_000);
        producer.start();
        System.out.println("QUEUES " + producer.fetchPublishMessageQueues(args[1]).size());
        System.out.println("READY");
        for (int n = 0; n < Integer.parseInt(args[2]); n++) {
            Message message = new Message(args[1], Integer.toString(n).getBytes(StandardCharsets.UTF_8));
            SendResult result = producer.send(message, (queues, msg, key) -> queues.get((int) key % queues.size()), n);
            System.out.println("SENT " + n + " " + result.getSendStatus());
        }
        System.out.println("DONE");
        producer.shutdown();
    }
}
