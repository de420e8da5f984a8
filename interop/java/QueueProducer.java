import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends the numbers 0, 1, 2 … as messages and tells where each went. Arguments: name servers, topic, how many, pause
 * between two in milliseconds. Prints READY, then SENT time broker:queue n or FAILED n reason, then DONE. Times are
 * epoch milliseconds. SIGTERM ends it early, also with DONE.
 */
public class QueueProducer {
    private static final CountDownLatch asked = new CountDownLatch(1);
    private static final CountDownLatch done = new CountDownLatch(1);

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[2]);
        long pauseMillis = Long.parseLong(args[3]);
        DefaultMQProducer producer = new DefaultMQProducer("interop-queue-producer");
        producer.setNamesrvAddr(args[0]);
        producer.setPollNameServerInterval(1000);
        producer.setSendMsgTimeout(10_000);
        producer.start();
        Runtime.getRuntime().addShutdownHook(new Thread(QueueProducer::stop));
        System.out.println("READY");
        for (int n = 0; n < count && !asked.await(pauseMillis, TimeUnit.MILLISECONDS); n++) {
            System.out.println(send(producer, args[1], n));
        }
        System.out.println("DONE");
        done.countDown();
        producer.shutdown();
    }

    private static String send(DefaultMQProducer producer, String topic, int n) {
        try {
            SendResult result = producer.send(new Message(topic, Integer.toString(n).getBytes(StandardCharsets.UTF_8)));
            String queue = result.getMessageQueue().getBrokerName() + ":" + result.getMessageQueue().getQueueId();
            boolean ok = result.getSendStatus() == SendStatus.SEND_OK;
            return ok ? "SENT " + System.currentTimeMillis() + " " + queue + " " + n
                : "FAILED " + n + " " + result.getSendStatus();
        } catch (Exception e) {
            return "FAILED " + n + " " + e.toString().replace('\n', ' ');
        }
    }

    private static void stop() {
        asked.countDown();
        try {
            done.await(15, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
