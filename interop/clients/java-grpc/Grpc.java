import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.concurrent.CountDownLatch;

import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.producer.Producer;

/**
 * The producer and the push consumer of the gRPC client. Arguments: produce, proxy, topic, how many; or consume, proxy,
 * topic, group. Prints what the classic ones print.
 */
public class Grpc {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();

    public static void main(String[] args) throws Exception {
        ClientConfiguration proxy = ClientConfiguration.newBuilder().setEndpoints(args[1]).enableSsl(false)
            .setRequestTimeout(Duration.ofSeconds(10)).build();
        if (args[0].equals("produce")) {
            produce(proxy, args[2], Integer.parseInt(args[3]));
        } else {
            consume(proxy, args[2], args[3]);
        }
    }

    private static void produce(ClientConfiguration proxy, String topic, int count) throws Exception {
        try (Producer producer =
                PROVIDER.newProducerBuilder().setClientConfiguration(proxy).setTopics(topic).build()) {
            System.out.println("READY");
            for (int n = 0; n < count; n++) {
                byte[] body = Integer.toString(n).getBytes(StandardCharsets.UTF_8);
                try {
                    producer.send(PROVIDER.newMessageBuilder().setTopic(topic).setBody(body).build());
                    System.out.println("SENT " + n);
                } catch (ClientException e) {
                    System.out.println("FAILED " + n + " " + e);
                }
            }
            System.out.println("DONE");
        }
    }

    private static void consume(ClientConfiguration proxy, String topic, String group) throws Exception {
        PushConsumer consumer = PROVIDER.newPushConsumerBuilder()
            .setClientConfiguration(proxy)
            .setConsumerGroup(group)
            .setSubscriptionExpressions(Collections.singletonMap(topic, FilterExpression.SUB_ALL))
            .setMessageListener(message -> {
                System.out.println("GOT " + StandardCharsets.UTF_8.decode(message.getBody()));
                return ConsumeResult.SUCCESS;
            })
            .build();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                consumer.close();
                System.out.println("DONE");
            } catch (java.io.IOException e) {
                System.out.println("FAILED to close: " + e);
            }
        }));
        System.out.println("READY");
        new CountDownLatch(1).await();
    }
}
